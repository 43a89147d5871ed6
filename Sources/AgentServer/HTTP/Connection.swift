// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import TokenCore

/// One peer's connection: cuts bytes into requests, answers them in order, and bounds what the peer can use.
///
/// At most one request is being answered at a time, so pipelined answers keep their order by themselves.
final class Connection: ChannelDuplexHandler, @unchecked Sendable {
    // Unchecked: every property is confined to the event loop of the channel.
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum State: Equatable {
        /// Waiting for the next request, or for the rest of one.
        case reading
        /// A request is with the agent. Next: `reading`, or `draining` when the connection must close.
        case answering
        /// An endless answer is being written. Next: `draining`.
        case streaming
        /// The last answer is written; input is thrown away until the peer closes.
        case draining
        case closed
    }

    /// The process at the other end.
    let peer: Peer
    /// The `[[socket]]` it connected to; `nil`: the agent's own socket.
    let restrictedPath: String?
    /// When the connection was accepted, or a moment later.
    let acceptedAt: Instant
    /// What is known of the peer's process, where rules ask for it.
    let witness: PeerWitness
    var state = State.reading
    /// How often housekeeping found the connection without a request since its last one.
    var idleRounds = 0
    /// Orders connections by their last request.
    var lastUse: UInt64 = 0
    var admittedAt = ContinuousClock.now
    var hasHadRequest = false
    /// What the agent owes the peer beyond the present turn of the loop.
    var awaited: AwaitedAnswer?
    /// Tells ``ConnectionRegister`` that a request came in.
    var onRequest: ((Connection) -> Void)?
    /// Tells ``ConnectionRegister`` that the connection is gone.
    var onClose: ((Connection) -> Void)?

    let limits: RequestLimits
    let agent: any RequestAnswering
    let shared: OutputBuffer
    private let backlog: StreamBacklog
    var parser: RequestParser
    var input = ByteBuffer()
    var output: ByteBuffer?
    var writer = AnswerWriter(keepsAlive: false, isHTTP11: true, isHead: false)
    var context: ChannelHandlerContext?
    var requestDeadline: Scheduled<Void>?
    var stallDeadline: Scheduled<Void>?
    var isParsing = false
    var isInRead = false
    var holdsRead = false
    private var stream = StreamOutput()
    /// Is called once when the peer has taken all of an endless answer so far.
    private var onTaken: (() -> Void)?
    /// The peer sends nothing more, and may still read.
    private(set) var isHalfClosed = false

    init(
        peer: Peer,
        limits: RequestLimits,
        agent: any RequestAnswering,
        shared: OutputBuffer,
        backlog: StreamBacklog = StreamBacklog(),
        restrictedPath: String? = nil,
        acceptedAt: Instant = Instant(nanoseconds: .max)
    ) {
        self.peer = peer
        witness = PeerWitness(process: peer.processID)
        self.restrictedPath = restrictedPath
        self.acceptedAt = acceptedAt
        self.limits = limits
        self.agent = agent
        self.shared = shared
        self.backlog = backlog
        parser = RequestParser(limits: limits)
    }

    /// Nothing is owed to the peer.
    var isIdle: Bool { state == .reading || state == .draining }

    /// Closes at once, whatever is under way.
    func close() {
        context?.close(promise: nil)
    }

    /// Part of a request has been read, and the rest is not here.
    var hasPartOfRequest: Bool { state == .reading && (input.readableBytes > 0 || parser.isInsideRequest) }

    /// Closes unless there are bytes that nobody has read; the peer can send no more either way.
    ///
    /// A request that comes too late is refused by the kernel at the peer's end, instead of being taken and lost.
    /// - Returns: whether it is closed.
    @discardableResult
    func closeUnlessAsked() -> Bool {
        guard let context else { return true }
        if state == .reading, hasUnreadBytes(stopping: false) || hasUnreadBytes(stopping: true) {
            return false
        }
        context.close(promise: nil)
        return true
    }

    private func hasUnreadBytes(stopping: Bool) -> Bool {
        let answer = try? context?.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { descriptor in
            if stopping { _ = shutdown(descriptor, CInt(SHUT_RD)) }
            var byte: UInt8 = 0
            return unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) > 0
        }
        return answer ?? false
    }
}

// MARK: Answering

extension Connection {
    /// Answers the present request.
    func answer(_ answer: Answer) {
        respond { writer, output in writer.write(answer, to: &output) }
    }

    /// Answers the present request with whatever `write` appends.
    func respond(_ write: (AnswerWriter, inout ByteBuffer) -> Void) {
        guard state == .answering else { return }
        append { write(writer, &$0) }
        if writer.keepsAlive {
            state = .reading
            continueReading()
        } else {
            finish()
        }
    }

    /// Begins an answer without an end, of lines of `contentType`.
    func beginStream(_ contentType: StaticString) {
        guard state == .answering else { return }
        state = .streaming
        writer.keepsAlive = false
        append { writer.writeStreamHead(contentType, to: &$0) }
        flushUnlessReading()
    }

    /// Adds to the answer begun by ``beginStream(_:)``; a peer that leaves too much unread is dropped.
    ///
    /// When the peer has taken all there is, if it ever does, `onTaken` is called.
    func stream(_ bytes: [UInt8], onTaken: (() -> Void)? = nil) {
        guard state == .streaming else { return }
        stream.append { writer.writeChunk(bytes, to: &$0) }
        if let onTaken { self.onTaken = onTaken }
        continueStream()
        for connection in backlog.note(self, unread: stream.unread) { connection.dropStream() }
    }

    func endStream() {
        guard state == .streaming else { return }
        stream.append { writer.writeStreamEnd(to: &$0) }
        flush()
        context?.writeAndFlush(wrapOutboundOut(stream.takeAll()), promise: nil)
        _ = backlog.note(self, unread: 0)
        finish()
    }

    /// Hands the channel the next piece, after what was answered before.
    private func continueStream() {
        guard state == .streaming, let context, let piece = stream.next() else { return }
        flush()
        context.writeAndFlush(wrapOutboundOut(piece)).assumeIsolated().whenSuccess { [weak self] in
            self?.pieceTaken()
        }
    }

    private func pieceTaken() {
        stream.pieceTaken()
        guard state == .streaming else { return }
        _ = backlog.note(self, unread: stream.unread)
        if stream.unread > 0 { return continueStream() }
        onTaken.take()?()
    }

    /// Ends the connection in the middle of the answer, so that the peer cannot take it for a whole one.
    private func dropStream() {
        agent.streamDropped(self)
        close()
    }

    func append(_ write: (inout ByteBuffer) -> Void) {
        var buffer = output.take() ?? shared.take()
        write(&buffer)
        output = buffer
    }

    /// Closes after the last answer, reading on for a while so that the peer surely gets it.
    func finish() {
        state = .draining
        requestDeadline?.cancel()
        if isHalfClosed {
            // Nothing is left to be read: closed as soon as all is written, which closing by halves would not wait for.
            let rest = wrapOutboundOut(output.take() ?? ByteBuffer())
            context?.writeAndFlush(rest).assumeIsolated().whenComplete { [weak self] _ in self?.close() }
        } else {
            flush()
            context?.close(mode: .output, promise: nil)
        }
        schedule(after: limits.lingerTime) { $0.close() }
        input = ByteBuffer()
    }

    /// Notes that the peer sends no more; it gets what it is still owed.
    private func inputEnded() {
        isHalfClosed = true
        if state == .reading, !isParsing { parse() }
    }

    func flushUnlessReading() {
        if !isInRead { flush() }
    }

    func flush() {
        guard let buffer = output.take(), let context else { return }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        shared.giveBack(buffer)
    }
}

// MARK: Channel events

extension Connection {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state != .draining, state != .closed else { return }
        isInRead = true
        var bytes = unwrapInboundIn(data)
        if input.readableBytes == 0 { input = bytes } else { input.writeBuffer(&bytes) }
        if !isParsing { parse() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isInRead = false
        flush()
        if input.readableBytes == 0 { input = ByteBuffer() }
    }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { holdsRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stallDeadline?.cancel()
        stallDeadline = nil
        if context.channel.isWritable {
            if state == .reading { continueReading() }
            resumeReadIfPossible()
        } else {
            stallDeadline = schedule(after: limits.stallTime) { $0.close() }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let wasAnswering = state == .answering || state == .streaming
        state = .closed
        requestDeadline?.cancel()
        stallDeadline?.cancel()
        output = nil
        onTaken = nil
        _ = backlog.note(self, unread: 0)
        if wasAnswering { agent.peerLeft(self) }
        onClose?(self)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { inputEnded() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
