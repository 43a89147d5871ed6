// SPDX-License-Identifier: MIT

/// Base64 in both alphabets (RFC 4648 §4, §5).
enum Base64 {
    private static let standard = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    /// Padded, standard alphabet.
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = encodeDigits(bytes)
        let padding = String(repeating: "=", count: (4 - digits.count % 4) % 4)
        return String(decoding: digits, as: UTF8.self) + padding
    }

    /// Unpadded, URL-safe alphabet.
    static func encodeForURL(_ bytes: some Sequence<UInt8>) -> String {
        let digits = encodeDigits(bytes).map { digit in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: digit
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Accepts the standard alphabet, padded or not.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var output: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for byte in text.utf8 where byte != UInt8(ascii: "=") {
            guard let digit = standard.firstIndex(of: byte) else { return nil }
            buffer = buffer << 6 | UInt32(digit)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            output.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
        }
        return output
    }

    /// Accepts exactly what ``encodeForURL(_:)`` writes.
    static func decodeForURL(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        guard let bytes = decode(String(decoding: digits, as: UTF8.self)), encodeForURL(bytes) == text else {
            return nil
        }
        return bytes
    }

    private static func encodeDigits(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var digits: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                digits.append(standard[Int(buffer >> UInt32(bits) & 63)])
            }
        }
        if bits > 0 { digits.append(standard[Int(buffer << UInt32(6 - bits) & 63)]) }
        return digits
    }
}
