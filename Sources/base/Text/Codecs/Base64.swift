// SPDX-License-Identifier: MIT

/// Base64 in its two alphabets, with strict decoders (RFC 4648 §4, §5).
package enum Base64 {
    private static let standard = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
    private static let urlSafe = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// Encodes in the standard alphabet, with padding.
    package static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: encode(bytes, alphabet: standard, padded: true), as: UTF8.self)
    }

    /// Encodes in the URL-safe alphabet, without padding (RFC 7515 §2).
    package static func urlEncoded(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: encode(bytes, alphabet: urlSafe, padded: false), as: UTF8.self)
    }

    /// Decodes the standard alphabet, with required padding.
    ///
    /// - Returns: the bytes, or `nil` if `text` is not exactly what an encoder writes.
    package static func decoded(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }
        guard text.utf8.count % 4 == 0, text.utf8.count - digits.count <= 2 else { return nil }
        return decode(digits.reversed(), alphabet: standard)
    }

    /// Decodes the URL-safe alphabet, without padding.
    ///
    /// - Returns: the bytes, or `nil` if `bytes` is not exactly what an encoder writes.
    package static func urlDecoded(_ bytes: some Collection<UInt8>) -> [UInt8]? {
        decode(Array(bytes), alphabet: urlSafe)
    }

    private static func encode(_ bytes: some Sequence<UInt8>, alphabet: [UInt8], padded: Bool) -> [UInt8] {
        var output: [UInt8] = []
        var pending: UInt32 = 0
        var bits = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                output.append(alphabet[Int(pending >> UInt32(bits) & 63)])
            }
            pending &= (1 << UInt32(bits)) - 1
        }
        if bits > 0 { output.append(alphabet[Int(pending << UInt32(6 - bits) & 63)]) }
        while padded, output.count % 4 != 0 { output.append(UInt8(ascii: "=")) }
        return output
    }

    /// Decodes digits, rejecting characters outside the alphabet, a lone last character, and bits that no
    /// encoder sets.
    private static func decode(_ digits: [UInt8], alphabet: [UInt8]) -> [UInt8]? {
        guard digits.count % 4 != 1 else { return nil }
        var values = [UInt8](repeating: 64, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        var output: [UInt8] = []
        output.reserveCapacity(digits.count * 3 / 4)
        var pending: UInt32 = 0
        var bits = 0
        for digit in digits {
            let value = values[Int(digit)]
            guard value < 64 else { return nil }
            pending = pending << 6 | UInt32(value)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            output.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
            pending &= (1 << UInt32(bits)) - 1
        }
        return pending == 0 ? output : nil
    }
}
