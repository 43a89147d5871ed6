// SPDX-License-Identifier: MIT

import NIOCore

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
    private(set) var state = State.reading
    /// How often housekeeping found the connection without a request since its last one.
    var idleRounds = 0
    /// Orders connections by their last request.
    var lastUse: UInt64 = 0
    /// Tells ``ConnectionRegister`` that a request came in.
    var onRequest: ((Connection) -> Void)?

    private let limits: RequestLimits
    private let agent: any RequestAnswering
    private let shared: OutputBuffer
    private var parser: RequestParser
    private var input = ByteBuffer()
    private var output: ByteBuffer?
    private var writer = AnswerWriter(keepsAlive: false, isHTTP11: true, isHead: false)
    private var context: ChannelHandlerContext?
    private var requestDeadline: Scheduled<Void>?
    private var stallDeadline: Scheduled<Void>?
    private var isParsing = false
    private var isInRead = false
    private var holdsRead = false

    init(peer: Peer, limits: RequestLimits, agent: any RequestAnswering, shared: OutputBuffer) {
        self.peer = peer
        self.limits = limits
        self.agent = agent
        self.shared = shared
        parser = RequestParser(limits: limits)
    }

    /// Nothing is owed to the peer.
    var isIdle: Bool { state == .reading || state == .draining }

    /// Closes at once, whatever is under way.
    func close() {
        context?.close(promise: nil)
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

    /// Adds to the answer begun by ``beginStream(_:)``; a peer that does not read is dropped.
    func stream(_ bytes: [UInt8]) {
        guard state == .streaming else { return }
        append { writer.writeChunk(bytes, to: &$0) }
        flushUnlessReading()
    }

    func endStream() {
        guard state == .streaming else { return }
        append { writer.writeStreamEnd(to: &$0) }
        finish()
    }

    private func append(_ write: (inout ByteBuffer) -> Void) {
        var buffer = output.take() ?? shared.take()
        write(&buffer)
        output = buffer
    }

    /// Closes after the last answer, reading on for a while so that the peer surely gets it.
    private func finish() {
        state = .draining
        flush()
        requestDeadline?.cancel()
        context?.close(mode: .output, promise: nil)
        schedule(after: limits.lingerTime) { $0.close() }
        input = ByteBuffer()
    }

    private func flushUnlessReading() {
        if !isInRead { flush() }
    }

    private func flush() {
        guard let buffer = output.take(), let context else { return }
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        shared.giveBack(buffer)
    }
}

// MARK: Reading

extension Connection {
    private func continueReading() {
        guard !isParsing else { return }
        parse()
        flushUnlessReading()
    }

    private func parse() {
        isParsing = true
        defer { isParsing = false }
        while state == .reading, hasRoomForAnswers {
            do {
                guard try takeStep() else { break }
            } catch {
                refuse(error)
            }
        }
        updateRequestDeadline()
        resumeReadIfPossible()
    }

    /// Handles what the parser finds next; `false` when it needs more bytes.
    private func takeStep() throws(RequestRefusal) -> Bool {
        switch try parser.next(from: &input) {
        case .request(let request):
            begin(request)
            return true
        case .wantsContinue:
            append { $0.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n") }
            return true
        case .needsMore: return false
        }
    }

    private func begin(_ request: HTTPRequest) {
        state = .answering
        idleRounds = 0
        writer = AnswerWriter(
            keepsAlive: request.head.keepsAlive,
            isHTTP11: request.head.isHTTP11,
            isHead: request.method == .head
        )
        requestDeadline?.cancel()
        requestDeadline = nil
        onRequest?(self)
        agent.receive(request, on: self)
    }

    private func refuse(_ refusal: RequestRefusal) {
        state = .answering
        writer = AnswerWriter(keepsAlive: false, isHTTP11: true, isHead: false)
        answer(Answer(refusal))
    }

    /// Starts the clock at the first byte of a request, not at the first byte of the connection.
    private func updateRequestDeadline() {
        let isWaiting = state == .reading && (input.readableBytes > 0 || parser.isInsideRequest)
        guard isWaiting else {
            requestDeadline?.cancel()
            requestDeadline = nil
            return
        }
        guard requestDeadline == nil else { return }
        requestDeadline = schedule(after: limits.requestTime) { connection in
            guard connection.state == .reading else { return }
            connection.refuse(.tooSlow)
        }
    }

    /// Answers already queued leave room for another.
    private var hasRoomForAnswers: Bool {
        guard (output?.readableBytes ?? 0) < limits.unreadAnswers else {
            flush()
            return context?.channel.isWritable ?? false
        }
        return context?.channel.isWritable ?? false
    }

    private var mayRead: Bool {
        state == .draining || input.readableBytes < limits.readAhead && context?.channel.isWritable ?? false
    }

    private func resumeReadIfPossible() {
        guard holdsRead, mayRead else { return }
        holdsRead = false
        context?.read()
    }

    @discardableResult
    private func schedule(
        after delay: TimeAmount,
        _ action: @escaping @Sendable (Connection) -> Void
    ) -> Scheduled<Void>? {
        context?.eventLoop.scheduleTask(in: delay) { [weak self] in
            guard let self else { return }
            action(self)
        }
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
        if wasAnswering { agent.peerLeft(self) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
