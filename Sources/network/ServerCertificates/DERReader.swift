// SPDX-License-Identifier: MIT

/// A reader of consecutive DER values (X.690 §8.1).
package struct DERReader {
    package static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    package static let objectIdentifier: UInt8 = 0x06
    private static let sequenceTag: UInt8 = 0x30

    private var rest: ArraySlice<UInt8>

    /// Creates a reader of consecutive values.
    package init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// Reads the next value, or returns `nil` at the end or at an invalid value.
    package mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            let digits = Int(first & 0x7F)
            guard (1...4).contains(digits), rest.count >= digits else { return nil }
            count = rest.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(digits)
        }
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return (tag, rest.prefix(count))
    }

    /// Reads the next value as a sequence, and returns a reader of the values inside, or `nil` for another
    /// type.
    package mutating func sequence() -> DERReader? {
        guard let value = next(), value.tag == DERReader.sequenceTag else { return nil }
        return DERReader(value.content)
    }
}
