// SPDX-License-Identifier: MIT

import NIOCore

/// One buffer that all connections of a loop use in turn, for requests or for answers, wiped after every use.
///
/// Both hold secrets: reusing a single buffer keeps them from being strewn over the heap, and zeroing it costs less
/// than the system call beside it.
///
/// Confined to the event loop.
final class SharedBuffer {
    private var spare: ByteBuffer?
    /// A buffer that grew beyond this is given back to the system instead of being kept.
    private static let keptCapacity = 65_536

    /// Takes the buffer, empty; a second taker before ``giveBack(_:)`` gets a buffer of its own.
    func take() -> ByteBuffer {
        guard let buffer = spare else { return ByteBufferAllocator().buffer(capacity: 4_096) }
        spare = nil
        return buffer
    }

    /// Takes back a buffer whose bytes are done with, and overwrites them.
    ///
    /// - Parameters:
    ///   - buffer: the one that was taken.
    ///   - written: how many bytes at its beginning were written, if some of them were discarded since.
    func giveBack(_ buffer: consuming ByteBuffer, written: Int = 0) {
        let used = max(written, buffer.writerIndex)
        buffer.clear()
        buffer.writeRepeatingByte(0, count: used)
        buffer.clear()
        if buffer.capacity <= Self.keptCapacity { spare = buffer }
    }
}
