// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import NIOCore

/// The socket of one connection, which it closes: hands over what has come, and keeps what the kernel has no room for.
///
/// Confined to the event loop.
struct PeerSocket: ~Copyable {
    enum Reading: Equatable {
        case bytes(Int)
        /// Nothing is here now.
        case nothing
        /// The peer sends nothing more.
        case end
        /// The socket is of no use any more.
        case failure
    }

    /// The socket; `nil` once it is closed.
    private(set) var descriptor: CInt?
    private let loop: AgentLoop
    private var watch: AgentLoop.Watch?
    private var interest = Readiness.readable
    /// What is still to be sent.
    private(set) var unsent = ByteBuffer()

    /// Takes over `descriptor`, a stream socket that does not block.
    init(_ descriptor: CInt, loop: AgentLoop) {
        self.descriptor = descriptor
        self.loop = loop
    }

    deinit {
        if let descriptor { Glibc.close(descriptor) }
    }

    /// Bytes that the kernel has had no room for.
    var unsentCount: Int { unsent.readableBytes }

    /// Has `watcher` told what the socket is ready for.
    mutating func begin(_ watcher: any DescriptorWatching) throws(PollFailure) {
        guard let descriptor, watch == nil else { return }
        watch = try loop.watch(descriptor, for: interest, watcher)
    }

    /// Whether the watcher is told that there is something to read.
    mutating func setReading(_ isReading: Bool) {
        update(isReading ? interest.union(.readable) : interest.subtracting(.readable))
    }

    /// Reads what has come into the room that `buffer` has.
    func read(into buffer: inout ByteBuffer) -> Reading {
        guard let descriptor else { return .failure }
        var count = 0
        _ = unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 1) { room in
            count = unsafe recv(descriptor, room.baseAddress, room.count, CInt(MSG_DONTWAIT))
            return max(0, count)
        }
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        return [EAGAIN, EINTR].contains(errno) ? .nothing : .failure
    }

    /// Sends what `buffer` holds, after what is still to be sent, and keeps what there is no room for.
    /// - Returns: whether the peer still takes anything.
    mutating func send(_ buffer: inout ByteBuffer) -> Bool {
        if unsent.readableBytes == 0, !sendAtOnce(&buffer) { return false }
        if buffer.readableBytes > 0 {
            unsent.writeBuffer(&buffer)
            update(interest.union(.writable))
        }
        return true
    }

    /// Sends what the kernel has room for by now.
    /// - Returns: whether the peer still takes anything.
    mutating func sendUnsent() -> Bool {
        var rest = unsent
        unsent = ByteBuffer()
        guard sendAtOnce(&rest) else { return false }
        if rest.readableBytes > 0 {
            // A peer that never takes all of it must not keep what it has taken: moved once for each time it is doubled.
            if rest.readerIndex >= rest.readableBytes { rest.discardReadBytes() }
            unsent = rest
        } else {
            update(interest.subtracting(.writable))
        }
        return true
    }

    /// Tells the peer that nothing more comes.
    func endOutput() {
        if let descriptor { _ = shutdown(descriptor, CInt(SHUT_WR)) }
    }

    /// Whether there are bytes that nobody has read; if `stopping`, the kernel takes no more first.
    func hasUnreadBytes(stopping: Bool) -> Bool {
        guard let descriptor else { return false }
        if stopping { _ = shutdown(descriptor, CInt(SHUT_RD)) }
        var byte: UInt8 = 0
        return unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) > 0
    }

    mutating func close() {
        if let watch { loop.forget(watch) }
        watch = nil
        if let descriptor { Glibc.close(descriptor) }
        descriptor = nil
        unsent = ByteBuffer()
    }

    private mutating func update(_ interest: Readiness) {
        guard self.interest != interest else { return }
        self.interest = interest
        if let descriptor, let watch { loop.change(watch, of: descriptor, to: interest) }
    }

    /// Takes out of `buffer` what the kernel has room for.
    private func sendAtOnce(_ buffer: inout ByteBuffer) -> Bool {
        guard let descriptor else { return false }
        guard buffer.readableBytes > 0 else { return true }
        let sent = unsafe buffer.withUnsafeReadableBytes { bytes in
            unsafe Glibc.send(
                descriptor,
                bytes.baseAddress,
                bytes.count,
                CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
            )
        }
        guard sent >= 0 else { return [EAGAIN, EINTR].contains(errno) }
        buffer.moveReaderIndex(forwardBy: sent)
        return true
    }
}
