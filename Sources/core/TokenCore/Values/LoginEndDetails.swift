// SPDX-License-Identifier: MIT

/// The message and time of a login's end, stored in its record next to the reason.
package struct LoginEndDetails: Equatable, Sendable {
    /// The explanation for the user, with the server's text if there is one.
    ///
    /// It is printable and has at most ``ServerText/limit`` characters.
    package var message: String
    package var at: WallTime

    package init(message: String, at: WallTime) {
        self.message = ServerText.cleaned(message)
        self.at = at
    }
}
