// SPDX-License-Identifier: MIT

/// Values that cannot be guessed and never repeat.
package enum RandomText {
    /// Returns 256 bits from the system's generator, as 43 characters of base64url.
    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return Base64.urlEncoded((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}
