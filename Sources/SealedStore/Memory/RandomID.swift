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
        var words: (high: UInt64, low: UInt64) = (0, 0)
        var count = 0
        for digit in text.utf8 where digit != UInt8(ascii: "-") {
            guard count < RandomID.digitCount, let value = digit.hexadecimalValue else { return nil }
            words = (words.high << 4 | words.low >> 60, words.low << 4 | value)
            count += 1
        }
        guard count == RandomID.digitCount else { return nil }
        self.init(high: words.high, low: words.low)
    }

    private static let digitCount = 2 * byteCount

    /// 32 lower-case digits.
    package var description: String {
        unsafe String(unsafeUninitializedCapacity: RandomID.digitCount) { digits in
            var words = (high: high, low: low)
            for index in 0..<RandomID.digitCount {
                let value = UInt8(words.high >> 60)
                let zero = value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10
                unsafe digits[index] = zero + value
                words = (words.high << 4 | words.low >> 60, words.low << 4)
            }
            return RandomID.digitCount
        }
    }
}

extension UInt8 {
    /// The value of the hexadecimal digit, of either case, that this is in ASCII.
    fileprivate var hexadecimalValue: UInt64? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(self - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(self - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
