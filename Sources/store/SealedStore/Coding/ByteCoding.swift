// SPDX-License-Identifier: MIT

import SecretMemory

extension [UInt8] {
    /// Appends an integer, little endian.
    mutating func append(integer: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: integer.littleEndian) { unsafe append(contentsOf: $0) }
    }

    /// Passes a reader of the bytes to `body`.
    func read<Result, Failure: Error>(
        _ body: (inout ByteReader) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe span.bytes.withUnsafeBytes { bytes throws(Failure) in
            var reader = unsafe ByteReader(bytes)
            return try body(&reader)
        }
    }

    /// Appends the 16 bytes of an identifier, most significant first, in the order of its digits.
    mutating func append(_ id: RandomID) {
        unsafe Swift.withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) {
            unsafe append(contentsOf: $0)
        }
    }
}

/// A reader of consecutive fields; the bytes must outlive it.
@safe
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.bytes = bytes
    }

    var remaining: Int { unsafe bytes.count - offset }

    /// Reads the next `count` bytes, without copying them.
    mutating func take(_ count: Int) throws(RecordError) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw .truncated }
        defer { offset += count }
        return unsafe UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    mutating func bytes(_ count: Int) throws(RecordError) -> [UInt8] {
        unsafe Array(try take(count))
    }

    /// Reads an integer, little endian.
    mutating func integer<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(RecordError) -> Value {
        let bytes = unsafe try take(MemoryLayout<Value>.size)
        return unsafe Value(littleEndian: bytes.loadUnaligned(as: Value.self))
    }

    /// Reads the 16 bytes of an identifier.
    mutating func id() throws(RecordError) -> RandomID {
        let bytes = unsafe try take(RandomID.byteCount)
        return unsafe RandomID(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        )
    }

    /// Reads `count` bytes of UTF-8.
    mutating func text(_ count: Int) throws(RecordError) -> String {
        let bytes = unsafe try take(count)
        guard let text = unsafe String(validating: bytes, as: UTF8.self) else {
            throw .malformed("text is not UTF-8")
        }
        return text
    }
}
