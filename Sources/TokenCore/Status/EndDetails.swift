// SPDX-License-Identifier: MIT

/// How and when a login ended: what its record keeps beside the reason.
package struct EndDetails: Equatable, Sendable {
    /// Why, for a person, with what the server said: printable, at most ``ServerText/limit`` characters.
    package var message: String
    package var at: WallTime

    package init(message: String, at: WallTime) {
        self.message = ServerText.cleaned(message)
        self.at = at
    }
}
