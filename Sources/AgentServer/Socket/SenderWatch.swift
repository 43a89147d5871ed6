// SPDX-License-Identifier: MIT

import CHardening
import NIOCore

/// Looks, before each read from a connection, who wrote what comes next.
///
/// NIO asks for the size of its buffer just before it reads, which is the one moment to do it: the bytes are there, and
/// the read that follows returns bytes of the writer that was seen and of nobody else.
struct SenderWatch: RecvByteBufferAllocator {
    private let descriptor: CInt
    private let witness: PeerWitness
    private var sizes = AdaptiveRecvByteBufferAllocator()

    /// Has the kernel tell who writes to `descriptor`.
    init(descriptor: CInt, witness: PeerWitness) {
        self.descriptor = descriptor
        self.witness = witness
        _ = hardening_tell_senders(descriptor)
    }

    func nextBufferSize() -> Int? {
        look()
        return sizes.nextBufferSize()
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        look()
        return sizes.buffer(allocator: allocator)
    }

    mutating func record(actualReadBytes: Int) -> Bool {
        witness.noteRead()
        return sizes.record(actualReadBytes: actualReadBytes)
    }

    private func look() {
        var sender: pid_t = 0
        let isThere = unsafe hardening_next_sender(descriptor, &sender) == 1
        witness.noteSender(isThere ? sender : nil)
    }
}

extension Connection {
    /// Watches from now on that only the process that connected writes to this connection.
    func watchSender() {
        guard let descriptor, let options = context?.channel.syncOptions else { return }
        let watch = SenderWatch(descriptor: descriptor, witness: caller.witness)
        // One read for each time there is something: another one could find bytes that came after the look.
        try? options.setOption(.maxMessagesPerRead, value: 1)
        try? options.setOption(.recvAllocator, value: watch)
    }
}
