// SPDX-License-Identifier: MIT

import NIOCore

/// A buffer that all connections of a loop use in turn, for requests or for responses, wiped after every use.
///
/// Requests and responses contain secrets. Reusing one buffer keeps copies of them from spreading over the
/// heap, and zeroing it costs less than the accompanying system call.
///
/// Confined to the agent's event loop.
final class SharedBuffer {
    private var spare: ByteBuffer?
    /// The maximum capacity in bytes of a reused buffer; a larger one is freed.
    private static let keptCapacity = 65_536

    /// Takes the empty buffer; a second caller before ``release(_:)`` gets a separate buffer.
    func take() -> ByteBuffer {
        guard let buffer = spare else { return ByteBufferAllocator().buffer(capacity: 4_096) }
        spare = nil
        return buffer
    }

    /// Wipes a buffer and keeps it for reuse.
    ///
    /// - Parameters:
    ///   - buffer: A buffer from ``take()``, whose bytes are no longer needed.
    ///   - written: The number of bytes written at its beginning, if some have been discarded since.
    func release(_ buffer: consuming ByteBuffer, written: Int = 0) {
        let used = max(written, buffer.writerIndex)
        buffer.clear()
        buffer.writeRepeatingByte(0, count: used)
        buffer.clear()
        if buffer.capacity <= Self.keptCapacity { spare = buffer }
    }
}
