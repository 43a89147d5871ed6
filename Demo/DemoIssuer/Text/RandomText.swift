// SPDX-License-Identifier: MIT

import Text

/// Unguessable text.
package enum RandomText {
    /// Returns 192 random bits after `prefix`.
    package static func token(_ prefix: String) -> String {
        "\(prefix)-\(Base64.urlEncoded((0..<24).map { _ in UInt8.random(in: 0...255) }))"
    }

    /// Returns eight letters in two groups, without letters that are easily mistaken (RFC 8628 §6.1).
    static func userCode() -> String {
        let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
        func group() -> String { String((0..<4).map { _ in letters.randomElement() ?? "B" }) }
        return "\(group())-\(group())"
    }
}
