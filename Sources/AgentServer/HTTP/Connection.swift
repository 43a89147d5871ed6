// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import TokenCore

/// What all connections share, at whichever socket they come in.
///
/// Confined to the event loop.
final class ConnectionServices {
    let agent: any RequestAnswering
    let limits: RequestLimits
    let register: ConnectionRegister
    let buffer = OutputBuffer()
    let backlog: StreamBacklog

    init(
        agent: any RequestAnswering,
        limits: RequestLimits,
        register: ConnectionRegister,
        backlog: StreamBacklog = StreamBacklog()
    ) {
        self.agent = agent
        self.limits = limits
        self.register = register
        self.backlog = backlog
    }
}

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

    /// What goes on in the present turn of the loop.
    private struct Turn {
        /// Requests are being taken out of the input.
        var isParsing = false
        /// The channel is handing over what has come; answers are sent together when it is done.
        var isInRead = false
        /// The channel asked to read and was not allowed to.
        var holdsRead = false
    }

    /// Where answers go.
    private struct Outlet {
        /// The socket, for answers that the kernel takes at once; `nil` from the moment the channel begins to close.
        var descriptor: CInt?
        /// Writes that the channel still has to finish.
        var channelWrites = 0
        /// Whether the peer takes its answers, so that the channel holds few of them.
        var isWritable = true
    }

    private struct Deadlines {
        /// The peer has begun a request and has to finish it.
        var request: Scheduled<Void>?
        /// The peer has left answers unread and has to take them.
        var stall: Scheduled<Void>?
    }

    let caller: Caller
    private(set) var state = State.reading
    /// What the agent owes the peer beyond the present turn of the loop.
    var awaited: AwaitedAnswer?
    /// How the present request is to be answered.
    private(set) var writer = AnswerWriter(keepsAlive: false, isHTTP11: true, isHead: false)
    private(set) var context: ChannelHandlerContext?
    private let services: ConnectionServices
    private var input: RequestInput
    private var output: ByteBuffer?
    private var stream = StreamOutput()
    private var turn = Turn()
    private var deadlines = Deadlines()
    /// The peer sends nothing more, and may still read.
    private var isHalfClosed = false
    private var outlet = Outlet()
    /// What the register remembers of the connection.
    var registration: ConnectionRegister.Entry?

    /// `descriptor` is the socket of the channel, which the channel closes.
    init(_ caller: Caller, _ services: ConnectionServices, descriptor: CInt? = nil) {
        self.caller = caller
        outlet.descriptor = descriptor
        self.services = services
        input = RequestInput(limits: services.limits)
    }

    var limits: RequestLimits { services.limits }

    /// The socket; `nil` from the moment the connection begins to close.
    var descriptor: CInt? { outlet.descriptor }

    /// Whether nothing is owed to the peer.
    var isIdle: Bool { state == .reading || state == .draining }

    /// Closes at once, whatever is under way.
    func close() {
        outlet.descriptor = nil
        context?.close(promise: nil)
    }

    /// Whether part of a request has been read and the rest is not here.
    var hasPartOfRequest: Bool { state == .reading && input.hasPartOfRequest }

    /// Closes unless there are bytes that nobody has read.
    ///
    /// The last look comes after the kernel was told to take no more: a request that comes too late is
    /// refused at the peer's end, instead of being taken and lost.
    /// - Returns: whether it is closed.
    @discardableResult
    func closeUnlessAsked() -> Bool {
        guard context != nil else { return true }
        if state == .reading, hasUnreadBytes(stopping: false) || hasUnreadBytes(stopping: true) {
            return false
        }
        close()
        return true
    }

    private func hasUnreadBytes(stopping: Bool) -> Bool {
        guard let descriptor else { return false }
        if stopping { _ = shutdown(descriptor, CInt(SHUT_RD)) }
        var byte: UInt8 = 0
        return unsafe recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) > 0
    }

    @discardableResult
    func schedule(
        after delay: TimeAmount,
        _ action: @escaping @Sendable (Connection) -> Void
    ) -> Scheduled<Void>? {
        context?.eventLoop.scheduleTask(in: delay) { [weak self] in
            guard let self else { return }
            action(self)
        }
    }
}

// MARK: Reading

extension Connection {
    /// Requests of one peer that are answered in one turn of the loop: 16, less than a millisecond of work.
    private static let mostInTurn = 16
    /// How long a peer that has sent more waits, so that the loop looks at its other connections.
    ///
    /// The loop does that only when no task is left that is due at once.
    private static let pauseOfTurn = TimeAmount.microseconds(50)

    /// Goes on with the next request: in this turn of the loop while ``parse()`` runs, else in a later one.
    private func continueReading() {
        guard !turn.isParsing else { return }
        flushUnlessReading()
        guard input.count > 0 else { return isHalfClosed ? finish() : resumeReadIfPossible() }
        context?.eventLoop.execute { [self] in parseLater() }
    }

    private func parse() {
        turn.isParsing = true
        defer { turn.isParsing = false }
        var left = Connection.mostInTurn
        while state == .reading, input.count > 0, hasRoomForAnswers {
            guard left > 0 else { return letOthersIn() }
            left -= 1
            do {
                guard try takeStep() else { break }
            } catch {
                refuse(error)
            }
        }
        // All that came whole has been answered, and nothing follows.
        if isHalfClosed, state == .reading, hasRoomForAnswers { finish() }
        updateRequestDeadline()
        resumeReadIfPossible()
    }

    /// Leaves the rest of the input for a later turn of the loop.
    private func letOthersIn() {
        schedule(after: Connection.pauseOfTurn) { $0.parseLater() }
    }

    private func parseLater() {
        guard state == .reading, !turn.isParsing else { return }
        parse()
        flushUnlessReading()
    }

    /// Handles what the parser finds next; `false` when it needs more bytes.
    private func takeStep() throws(RequestRefusal) -> Bool {
        switch try input.next() {
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
        writer = AnswerWriter(
            keepsAlive: request.head.keepsAlive,
            isHTTP11: request.head.isHTTP11,
            isHead: request.method == .head
        )
        endRequestDeadline()
        services.register.requestCame(on: self)
        services.agent.receive(request, on: self)
    }

    private func refuse(_ refusal: RequestRefusal) {
        state = .answering
        writer = AnswerWriter(keepsAlive: false, isHTTP11: true, isHead: false)
        answer(Answer(refusal))
    }

    /// Starts the clock at the first byte of a request, not when the connection opens.
    private func updateRequestDeadline() {
        guard hasPartOfRequest else { return endRequestDeadline() }
        guard deadlines.request == nil else { return }
        deadlines.request = schedule(after: limits.requestTime) { connection in
            guard connection.state == .reading else { return }
            connection.refuse(.tooSlow)
        }
    }

    private func endRequestDeadline() {
        guard let deadline = deadlines.request else { return }
        deadline.cancel()
        deadlines.request = nil
    }

    /// Whether the answers already queued leave room for another.
    private var hasRoomForAnswers: Bool {
        if (output?.readableBytes ?? 0) >= limits.unreadAnswers { flush() }
        return outlet.isWritable
    }

    private var mayRead: Bool {
        state == .draining || outlet.isWritable && input.count < limits.readAhead
    }

    private func resumeReadIfPossible() {
        guard turn.holdsRead, mayRead else { return }
        turn.holdsRead = false
        context?.read()
    }

    /// Notes that the peer sends no more; it gets what it is still owed.
    private func inputEnded() {
        isHalfClosed = true
        if state == .reading, !turn.isParsing { parse() }
    }
}

// MARK: Answering

extension Connection {
    /// Answers the present request.
    func answer(_ answer: Answer) {
        respond { writer, output in writer.write(answer, to: &output) }
    }

    /// Answers the present request with whatever `write` appends.
    ///
    /// If it throws, the request is still to be answered.
    func respond(_ write: (AnswerWriter, inout ByteBuffer) throws -> Void) rethrows {
        guard state == .answering else { return }
        try append { try write(writer, &$0) }
        if writer.keepsAlive {
            state = .reading
            continueReading()
        } else {
            finish()
        }
    }

    private func append(_ write: (inout ByteBuffer) throws -> Void) rethrows {
        var buffer = output.take() ?? services.buffer.take()
        defer { output = buffer }
        try write(&buffer)
    }

    /// Closes after the last answer, reading on for a while so that the peer surely gets it.
    private func finish() {
        state = .draining
        deadlines.request?.cancel()
        flush()
        if outlet.channelWrites > 0 {
            // The peer has time to read them, but not for ever.
            schedule(after: limits.stallTime) { $0.close() }
            write(ByteBuffer())?.whenComplete { [weak self] _ in self?.linger() }
        } else {
            linger()
        }
        input.clear()
    }

    /// Closes once the peer has had time to read what the kernel has for it.
    private func linger() {
        // Nothing is left to read: what is written still reaches the peer.
        if isHalfClosed { return close() }
        context?.close(mode: .output, promise: nil)
        schedule(after: limits.lingerTime) { $0.close() }
    }

    private func flushUnlessReading() {
        if !turn.isInRead { flush() }
    }

    private func flush() {
        guard var buffer = output.take(), context != nil else { return }
        sendAtOnce(&buffer)
        if buffer.readableBytes > 0 { write(buffer) }
        services.buffer.giveBack(buffer)
    }

    /// Takes out of `buffer` what the kernel has room for, unless the channel has something to write before.
    ///
    /// Nearly all answers go this way; the channel's own costs as much as all else that is done for a request.
    /// What goes wrong here goes wrong there again, and is dealt with there.
    private func sendAtOnce(_ buffer: inout ByteBuffer) {
        guard let descriptor = outlet.descriptor, outlet.channelWrites == 0 else { return }
        let sent = unsafe buffer.withUnsafeReadableBytes { bytes in
            unsafe send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        }
        if sent > 0 { buffer.moveReaderIndex(forwardBy: sent) }
    }

    /// Hands `buffer` to the channel, which writes it when the peer takes it; `nil` if the channel is gone.
    @discardableResult
    private func write(_ buffer: ByteBuffer) -> EventLoopFuture<Void>.Isolated? {
        guard let context else { return nil }
        outlet.channelWrites += 1
        let written = context.writeAndFlush(wrapOutboundOut(buffer)).assumeIsolated()
        written.whenComplete { [self] _ in outlet.channelWrites -= 1 }
        return written
    }
}

// MARK: Endless answers

extension Connection {
    /// Begins an endless answer, of lines of `contentType`.
    func beginStream(_ contentType: StaticString) {
        guard state == .answering else { return }
        state = .streaming
        writer.keepsAlive = false
        append { writer.writeStreamHead(contentType, to: &$0) }
        flushUnlessReading()
    }

    /// Adds to the answer begun by ``beginStream(_:)``; a peer that leaves too much unread is dropped.
    ///
    /// `onTaken` is called when the peer has taken all there is, if it ever does.
    func stream(_ bytes: [UInt8], onTaken: (() -> Void)? = nil) {
        guard state == .streaming else { return }
        stream.append(onTaken) { writer.writeChunk(bytes, to: &$0) }
        continueStream()
        for connection in services.backlog.update(self, unread: stream.unread) { connection.dropStream() }
    }

    func endStream() {
        guard state == .streaming else { return }
        stream.append { writer.writeStreamEnd(to: &$0) }
        flush()
        write(stream.takeAll())
        _ = services.backlog.update(self, unread: 0)
        finish()
    }

    /// Hands the channel the next piece, after what was answered before.
    private func continueStream() {
        guard state == .streaming, context != nil, let piece = stream.next() else { return }
        flush()
        write(piece)?.whenSuccess { [weak self] in self?.pieceTaken() }
    }

    private func pieceTaken() {
        let onTaken = stream.pieceTaken()
        guard state == .streaming else { return }
        _ = services.backlog.update(self, unread: stream.unread)
        continueStream()
        onTaken?()
    }

    /// Ends the connection in the middle of the answer, so that the peer cannot take it for a whole one.
    private func dropStream() {
        services.agent.streamDropped(self)
        close()
    }
}

// MARK: Channel events

extension Connection {
    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        outlet.descriptor = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state != .draining, state != .closed else { return }
        turn.isInRead = true
        input.add(unwrapInboundIn(data))
        if !turn.isParsing { parse() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        turn.isInRead = false
        flush()
        if input.count == 0 { input.clear() }
    }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { turn.holdsRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        deadlines.stall?.cancel()
        deadlines.stall = nil
        outlet.isWritable = context.channel.isWritable
        if outlet.isWritable {
            if state == .reading { continueReading() }
            resumeReadIfPossible()
        } else {
            deadlines.stall = schedule(after: limits.stallTime) { $0.close() }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let wasAnswering = state == .answering || state == .streaming
        state = .closed
        outlet.descriptor = nil
        endRequestDeadline()
        deadlines.stall?.cancel()
        output = nil
        stream = StreamOutput()
        _ = services.backlog.update(self, unread: 0)
        if wasAnswering { services.agent.peerLeft(self) }
        services.register.remove(self)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { inputEnded() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close()
    }
}
