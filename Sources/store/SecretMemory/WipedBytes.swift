// SPDX-License-Identifier: MIT

import CSodium

/// A growing buffer for secrets on their way to be sealed or sent, overwritten when it moves and on release.
@safe
package struct WipedBytes: ~Copyable {
    private var buffer: UnsafeMutableRawBufferPointer
    package private(set) var count = 0

    package init(capacity: Int = 2048) {
        unsafe buffer = .allocate(byteCount: max(capacity, 64), alignment: 16)
    }

    deinit {
        unsafe WipedBytes.discard(buffer)
    }

    /// Passes the bytes written so far to `body`.
    package func read<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
    }

    /// Appends `more` bytes, written by `fill`.
    package mutating func append(_ more: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        reserve(more)
        unsafe fill(UnsafeMutableRawBufferPointer(rebasing: buffer[count..<count + more]))
        count += more
    }

    package mutating func append(_ byte: UInt8) {
        unsafe append(1) { unsafe $0[0] = byte }
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        unsafe append(bytes.count) { unsafe $0.copyMemory(from: bytes) }
    }

    /// Appends an integer, little endian.
    package mutating func append(integer: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: integer.littleEndian) { unsafe append($0) }
    }

    package mutating func append(_ id: RandomID) {
        unsafe withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { unsafe append($0) }
    }

    /// Appends a 4-byte length and the text's UTF-8.
    package mutating func append(_ text: String) {
        var text = text
        append(integer: UInt32(text.utf8.count))
        text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    /// Pads to the next multiple of `block` as `sodium_pad` does, always by at least one byte.
    package mutating func pad(toMultipleOf block: Int) {
        unsafe append(block - count % block) { padding in
            unsafe padding.initializeMemory(as: UInt8.self, repeating: 0)
            unsafe padding[0] = 0x80
        }
    }

    private mutating func reserve(_ more: Int) {
        guard unsafe count + more > buffer.count else { return }
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(buffer.count * 2, count + more),
            alignment: 16
        )
        unsafe larger.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
        )
        unsafe WipedBytes.discard(buffer)
        unsafe buffer = larger
    }

    private static func discard(_ buffer: UnsafeMutableRawBufferPointer) {
        if let base = buffer.baseAddress { unsafe sodium_memzero(base, buffer.count) }
        unsafe buffer.deallocate()
    }
}
