// SPDX-License-Identifier: MIT

extension JSONString {
    /// Whether `utf8` stands in a string as it is, so that ``write(_:to:)`` escapes nothing; eight bytes at a time.
    package static func isPlain(_ utf8: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index + 8 <= utf8.count {
            if unsafe utf8.loadUnaligned(fromByteOffset: index, as: UInt64.self).needsEscapes { return false }
            index += 8
        }
        return unsafe !utf8[index...].contains(where: needsEscape)
    }
}

extension UInt64 {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Whether one of its eight bytes has to be escaped.
    fileprivate var needsEscapes: Bool {
        let isControl = (self &- 0x20 &* Self.ones) & ~self
        let found = isControl | zeros(besides: 0x7F) | zeros(besides: 0x22) | zeros(besides: 0x5C)
        return found & Self.highBits != 0
    }

    /// Has the highest bit of a byte set if the byte is `byte`; the bits of bytes above it mean nothing then.
    private func zeros(besides byte: UInt64) -> UInt64 {
        let difference = self ^ byte &* Self.ones
        return (difference &- Self.ones) & ~difference
    }
}
