// SPDX-License-Identifier: MIT

/// An error in a ``ServerProfile``, with `key` spelled as in the configuration.
package struct ServerProfileError: Error, Equatable, Sendable {
    package var key: String
    /// The end of a sentence that begins with the key, such as "must begin with https://".
    package var message: String

    package init(_ key: String, _ message: String) {
        self.key = key
        self.message = message
    }
}
