// SPDX-License-Identifier: MIT

/// Bytes as pairs of hexadecimal digits (RFC 4648 §8).
package enum Hex {
    /// Returns the two digits of `byte`.
    package static func digits(of byte: UInt8, isUpper: Bool = false) -> (high: UInt8, low: UInt8) {
        (digit(byte >> 4, isUpper), digit(byte & 15, isUpper))
    }

    /// Encodes bytes in lower case, two digits per byte.
    package static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            let (high, low) = digits(of: byte)
            text.append(high)
            text.append(low)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns all digits of `number` in lower case, most significant first, two per byte.
    package static func digits(of number: some FixedWidthInteger) -> String {
        encoded(unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe Array($0) })
    }

    /// Decodes pairs of digits of either case, or returns `nil` if there is anything else.
    package static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.underestimatedCount / 2)
        var rest = text.makeIterator()
        while let first = rest.next() {
            guard let high = first.hexDigitValue, let low = rest.next()?.hexDigitValue else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ value: UInt8, _ isUpper: Bool) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: isUpper ? "A" : "a") + value - 10
    }
}
