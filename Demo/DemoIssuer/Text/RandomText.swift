// SPDX-License-Identifier: MIT

import Text

/// Text no one can guess.
package enum RandomText {
    /// 192 random bits behind `prefix`.
    package static func token(_ prefix: String) -> String {
        "\(prefix)-\(Base64.urlEncoded((0..<24).map { _ in UInt8.random(in: 0...255) }))"
    }

    /// Eight letters in two groups, none of them easily mistaken (RFC 8628 §6.1).
    static func userCode() -> String {
        let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
        func group() -> String { String((0..<4).map { _ in letters.randomElement() ?? "B" }) }
        return "\(group())-\(group())"
    }
}
