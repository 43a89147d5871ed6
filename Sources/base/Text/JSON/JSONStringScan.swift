// SPDX-License-Identifier: MIT

extension JSONStringWriter {
    /// Returns whether ``write(_:to:)`` escapes nothing in `utf8`.
    ///
    /// Tests eight bytes at a time.
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

    /// Whether one of the eight bytes in this word must be escaped in a JSON string.
    fileprivate var needsEscapes: Bool {
        let isControl = (self &- 0x20 &* Self.ones) & ~self
        let found = isControl | marks(of: 0x7F) | marks(of: 0x22) | marks(of: 0x5C)
        return found & Self.highBits != 0
    }

    /// Returns a word in which the highest bit of each byte equal to `byte` is set.
    ///
    /// Only the lowest such bit is exact: the bytes above it may be set wrongly.
    private func marks(of byte: UInt64) -> UInt64 {
        let difference = self ^ byte &* Self.ones
        return (difference &- Self.ones) & ~difference
    }
}
