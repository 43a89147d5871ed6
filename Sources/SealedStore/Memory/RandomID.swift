// SPDX-License-Identifier: MIT

import CSodium

/// 128 bits that name a vault, a record, a salt or a boot, written as 32 hexadecimal digits.
package struct RandomID: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Draws a fresh one.
    package static func random() -> RandomID {
        var words: (UInt64, UInt64) = (0, 0)
        unsafe randombytes_buf(&words, byteCount)
        return RandomID(high: words.0, low: words.1)
    }

    /// Reads exactly 32 hexadecimal digits, ignoring dashes.
    package init?(hexadecimal text: some StringProtocol) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 32 else { return nil }
        var words: [UInt64] = [0, 0]
        for (index, digit) in digits.enumerated() {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
            words[index / 16] = words[index / 16] << 4 | UInt64(value)
        }
        self.init(high: words[0], low: words[1])
    }

    /// 32 lower-case digits.
    package var description: String {
        RandomID.digits(high) + RandomID.digits(low)
    }

    private static func digits(_ word: UInt64) -> String {
        let text = String(word, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
