// SPDX-License-Identifier: MIT

import NIOCore

/// The one buffer all connections of a loop write their answers into, wiped after every use.
///
/// Answers hold tokens: reusing a single buffer keeps them from being strewn over the heap, and zeroing it
/// costs less than the write it follows.
///
/// Confined to the event loop.
final class OutputBuffer {
    private var spare: ByteBuffer?
    /// A buffer that grew beyond this is given back to the system instead of being kept.
    private static let keptCapacity = 65_536

    /// Takes the buffer, empty; a second taker before ``giveBack(_:)`` gets a buffer of its own.
    func take() -> ByteBuffer {
        guard let buffer = spare else { return ByteBufferAllocator().buffer(capacity: 4_096) }
        spare = nil
        return buffer
    }

    /// Takes back a buffer whose bytes have been written, and overwrites them.
    func giveBack(_ buffer: consuming ByteBuffer) {
        let used = buffer.writerIndex
        // If a slow peer has not taken all bytes, the channel still shares them and this makes a new buffer.
        buffer.clear()
        buffer.writeRepeatingByte(0, count: used)
        buffer.clear()
        if buffer.capacity <= Self.keptCapacity { spare = buffer }
    }
}
