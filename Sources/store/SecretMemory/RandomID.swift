// SPDX-License-Identifier: MIT

import CSodium
import Text

/// A 128-bit identifier of a vault, a record, a salt or a boot, written as 32 hexadecimal digits.
package struct RandomID: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a random identifier.
    package static func random() -> RandomID {
        var words: (UInt64, UInt64) = (0, 0)
        unsafe randombytes_buf(&words, byteCount)
        return RandomID(high: words.0, low: words.1)
    }

    /// Creates an identifier from the first 16 of `bytes`, most significant first; missing bytes count as 0.
    package init(_ bytes: [UInt8]) {
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for index in 0..<RandomID.byteCount {
            let byte = bytes.indices.contains(index) ? bytes[index] : 0
            words = (words.high << 8 | words.low >> 56, words.low << 8 | UInt64(byte))
        }
        self.init(high: words.high, low: words.low)
    }

    /// Parses exactly 32 hexadecimal digits, ignoring dashes.
    package init?(hexadecimal text: some StringProtocol) {
        var words: (high: UInt64, low: UInt64) = (0, 0)
        var count = 0
        for digit in text.utf8 where digit != UInt8(ascii: "-") {
            guard count < RandomID.digitCount, let value = digit.hexDigitValue else { return nil }
            words = (words.high << 4 | words.low >> 60, words.low << 4 | UInt64(value))
            count += 1
        }
        guard count == RandomID.digitCount else { return nil }
        self.init(high: words.high, low: words.low)
    }

    private static let digitCount = 2 * byteCount

    /// The identifier as 32 hexadecimal digits in lower case.
    package var description: String {
        unsafe String(unsafeUninitializedCapacity: RandomID.digitCount) { digits in
            var words = (high: high, low: low)
            for index in 0..<RandomID.byteCount {
                let pair = Hex.digits(of: UInt8(words.high >> 56))
                unsafe (digits[2 * index], digits[2 * index + 1]) = pair
                words = (words.high << 8 | words.low >> 56, words.low << 8)
            }
            return RandomID.digitCount
        }
    }
}
