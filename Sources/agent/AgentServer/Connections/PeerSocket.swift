// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import NIOCore

/// The socket of one connection, which it closes.
///
/// It buffers output that the kernel cannot take yet.
///
/// Confined to the event loop.
struct PeerSocket: ~Copyable {
    enum Reading: Equatable {
        case bytes(Int)
        /// There is nothing to read now.
        case nothing
        /// The peer sends nothing more.
        case end
        /// The socket cannot be used any more.
        case failure
    }

    /// The socket, or `nil` once it is closed.
    private(set) var descriptor: CInt?
    private let loop: AgentLoop
    private var watch: AgentLoop.WatchID?
    private var interest = Readiness.readable
    /// The output that is not sent yet.
    private(set) var unsent = ByteBuffer()

    /// Takes ownership of `descriptor`, a non-blocking stream socket.
    init(_ descriptor: CInt, loop: AgentLoop) {
        self.descriptor = descriptor
        self.loop = loop
    }

    deinit {
        if let descriptor { Glibc.close(descriptor) }
    }

    /// The number of bytes that the kernel has not taken yet.
    var unsentCount: Int { unsent.readableBytes }

    /// Starts to notify `watcher` when the socket is ready.
    ///
    /// - Throws: `PollFailure` if the loop cannot watch the descriptor.
    mutating func begin(_ watcher: any ReadinessHandling) throws(PollFailure) {
        guard let descriptor, watch == nil else { return }
        watch = try loop.watch(descriptor, for: interest, watcher)
    }

    /// Sets whether the watcher is notified when there is something to read.
    mutating func setReading(_ isReading: Bool) {
        update(isReading ? interest.union(.readable) : interest.subtracting(.readable))
    }

    /// Reads into the free space of `buffer`.
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

    /// Sends the contents of `buffer` after output that is not sent yet, and keeps what the kernel does not
    /// take.
    ///
    /// - Returns: `true` if the peer still accepts data.
    mutating func send(_ buffer: inout ByteBuffer) -> Bool {
        if unsent.readableBytes == 0, !sendAtOnce(&buffer) { return false }
        if buffer.readableBytes > 0 {
            unsent.writeBuffer(&buffer)
            update(interest.union(.writable))
        }
        return true
    }

    /// Sends as much of the kept output as the kernel takes now.
    ///
    /// - Returns: `true` if the peer still accepts data.
    mutating func sendUnsent() -> Bool {
        var rest = unsent
        unsent = ByteBuffer()
        guard sendAtOnce(&rest) else { return false }
        if rest.readableBytes > 0 {
            // Without this a peer that never takes everything would keep the sent bytes in memory. They are
            // moved only once per doubling.
            if rest.readerIndex >= rest.readableBytes { rest.discardReadBytes() }
            unsent = rest
        } else {
            update(interest.subtracting(.writable))
        }
        return true
    }

    /// Tells the peer that nothing more is sent.
    func endOutput() {
        if let descriptor { _ = shutdown(descriptor, CInt(SHUT_WR)) }
    }

    /// Returns whether there are unread bytes.
    ///
    /// If `stopping`, the kernel first stops to accept more.
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

    /// Sends what the kernel takes at once, and removes it from `buffer`.
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
