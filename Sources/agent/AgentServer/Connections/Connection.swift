// SPDX-License-Identifier: MIT

import NIOCore

/// The services that all connections share, at every socket.
///
/// Confined to the agent's event loop.
final class ConnectionServices {
    let loop: AgentLoop
    let agent: any HTTPRequestServing
    let limits: RequestLimits
    let register: ConnectionRegister
    let input = SharedBuffer()
    let output = SharedBuffer()
    let backlog = StreamBacklogLimiter()

    init(
        loop: AgentLoop,
        agent: any HTTPRequestServing,
        limits: RequestLimits,
        register: ConnectionRegister
    ) {
        self.loop = loop
        self.agent = agent
        self.limits = limits
        self.register = register
    }
}

/// One peer's connection: it parses requests, sends responses in order, and limits the peer's use of
/// resources.
///
/// At most one request is processed at a time, so pipelined responses keep their order.
///
/// - Entry points: ``begin()`` after accepting, ``answer(_:)`` and ``stream(_:onTaken:)`` for the agent.
/// - May not: decide about requests; ``HTTPRequestServing`` does.
/// - Runs on: the agent's event loop.
final class Connection: ReadinessHandling, @unchecked Sendable {
    // Unchecked because every property is confined to the event loop.
    enum State: Equatable {
        /// The next request, or the rest of one, has not arrived.
        case reading
        /// The agent is processing a request. Next: `reading`, or `draining` if the connection must close.
        case answering
        /// An endless response is being written. Next: `draining`.
        case streaming
        /// The last response has been written; input is discarded until the peer closes. Next: `closed`.
        case draining
        case closed
    }

    /// The activities of the current turn of the loop.
    private struct LoopTurnState {
        /// Whether requests are being parsed.
        var isParsing = false
        /// Whether input is being read; the responses are sent together afterwards.
        var isInRead = false
        /// Whether parsing of the remaining input is scheduled for a later turn.
        var isParseQueued = false
    }

    /// The state of the peer's ends of the connection.
    private struct PeerIOState {
        /// Whether the peer has closed its sending end; it may still read.
        var isHalfClosed = false
        /// Whether the peer reads its responses fast enough.
        var isTaking = true
    }

    private struct Deadlines {
        /// The deadline for the rest of a request that the peer has begun.
        var request: Scheduled<Void>?
        /// The deadline for a peer that does not read its responses.
        var stall: Scheduled<Void>?
    }

    private(set) var caller: Caller
    private(set) var state = State.reading
    /// The reply that the agent will send in a later turn of the loop.
    var awaited: PendingReply?
    /// The writer of the current request's response.
    private(set) var writer = HTTPResponseWriter(keepsAlive: false, isHTTP11: true, isHead: false)
    private let services: ConnectionServices
    private var socket: PeerSocket
    private var senders: SenderVerifier?
    private var input: RequestInput
    private var output: ByteBuffer?
    private var stream = StreamOutput()
    private var turn = LoopTurnState()
    private var deadlines = Deadlines()
    private var peerEnd = PeerIOState()
    /// The connection's entry in the register.
    var registration: ConnectionRegister.Entry?

    /// Creates a connection on `socket`, which reads nothing before ``begin()``.
    init(_ caller: Caller, _ services: ConnectionServices, socket: consuming PeerSocket) {
        self.caller = caller
        self.socket = socket
        self.services = services
        input = RequestInput(limits: services.limits)
    }

    var limits: RequestLimits { services.limits }

    /// The socket's descriptor, or `nil` once the connection is closed.
    var descriptor: CInt? { socket.descriptor }

    /// Whether no response to the peer is pending.
    var isIdle: Bool { state == .reading || state == .draining }

    /// Begins to read; a request has often arrived by now.
    ///
    /// - Throws: ``PollFailure`` if the socket cannot be polled.
    func begin() throws(PollFailure) {
        try socket.begin(self)
        // With a sender check, only read after a poll: bytes of an unknown writer could arrive between a
        // check that finds no bytes and the read.
        if senders == nil { ready(.readable) }
    }

    /// Begins to process `request` as if the peer had sent it; the response is the bare token, followed by
    /// the end of the connection.
    ///
    /// - Throws: ``PollFailure`` if the socket cannot be polled.
    func begin(answering request: HTTPRequest) throws(PollFailure) {
        try socket.begin(self)
        state = .answering
        writer = .bare
        services.register.requestCame(on: self)
        services.agent.receive(request, on: self)
    }

    /// Closes the connection at once, in any state.
    func close() {
        guard state != .closed else { return }
        let before = state
        state = .closed
        socket.close()
        endRequestDeadline()
        deadlines.stall?.cancel()
        output = nil
        if before == .streaming {
            stream = StreamOutput()
            _ = services.backlog.update(self, unread: 0)
        }
        if before == .answering || before == .streaming { services.agent.peerLeft(self) }
        services.register.remove(self)
    }

    /// Whether a request has only partly arrived.
    var hasPartOfRequest: Bool { state == .reading && input.hasPartOfRequest }

    /// Closes the connection unless it has unread bytes.
    ///
    /// The last check comes after the kernel was told to accept no more bytes. A request that arrives too
    /// late is thus refused at the peer's end, instead of being accepted and lost.
    ///
    /// - Returns: Whether the connection is closed.
    @discardableResult
    func closeUnlessAsked() -> Bool {
        if state == .reading, socket.hasUnreadBytes(stopping: false) || socket.hasUnreadBytes(stopping: true)
        {
            return false
        }
        close()
        return true
    }

    /// Restricts the following requests to those that `forwarding` allows.
    func restrict(to forwarding: ForwardingRestriction) { caller.restrict(to: forwarding) }

    /// Checks from now on that only the process that connected writes to this connection.
    func watchSender() {
        guard let descriptor else { return }
        senders = SenderVerifier(descriptor: descriptor, witness: caller.witness)
    }

    @discardableResult
    func schedule(
        after delay: TimeAmount,
        _ action: @escaping @Sendable (Connection) -> Void
    ) -> Scheduled<Void>? {
        guard state != .closed else { return nil }
        return services.loop.scheduleTask(in: delay) { [weak self] in
            guard let self else { return }
            action(self)
        }
    }

    private func inNextTurn(_ action: @escaping @Sendable (Connection) -> Void) {
        services.loop.execute { [self] in action(self) }
    }
}

// MARK: Reading

extension Connection {
    /// The maximum number of one peer's requests in one turn of the loop: less than a millisecond of work.
    private static let maximumInTurn = 16
    /// The maximum number of reads in one turn of the loop, so that other connections get theirs.
    private static let maximumReads = 4

    func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { sendUnsent() }
        if !readiness.isDisjoint(with: [.readable, .gone]), mayRead { read() }
        // Requests that arrived before the peer closed get their responses, unless too many are unread.
        if !readiness.isDisjoint(with: .gone), peerEnd.isHalfClosed || !mayRead { close() }
    }

    func loopEnded() { close() }

    private func read() {
        turn.isInRead = true
        for _ in 0..<Self.maximumReads where state != .closed && mayRead {
            guard readOnce() else { break }
        }
        turn.isInRead = false
        input.settle(services.input)
        flush()
        updateReading()
    }

    /// Reads once, and processes the input.
    ///
    /// - Returns: `false` if no more input is expected now.
    private func readOnce() -> Bool {
        senders?.look()
        switch input.read(from: socket, through: services.input) {
        case .bytes(let count):
            senders?.recordRead()
            if state == .draining { input.clear() } else if !turn.isParsing, !turn.isParseQueued { parse() }
            // With a sender check, a second read could find bytes that arrived after the check. A short read
            // has emptied the socket.
            return senders == nil && count >= RequestInput.piece
        case .nothing: return false
        case .end:
            inputEnded()
            return false
        case .failure:
            close()
            return false
        }
    }

    /// Continues with the next request: in this turn of the loop while ``parse()`` runs, otherwise in a later
    /// one.
    private func continueReading() {
        guard !turn.isParsing else { return }
        flushUnlessReading()
        guard input.count > 0 else { return peerEnd.isHalfClosed ? finish() : updateReading() }
        queueParse()
    }

    private func queueParse() {
        guard !turn.isParseQueued else { return }
        turn.isParseQueued = true
        inNextTurn { $0.parseLater() }
    }

    private func parse() {
        turn.isParsing = true
        defer { turn.isParsing = false }
        var left = Connection.maximumInTurn
        while state == .reading, input.count > 0, hasRoomForAnswers {
            guard left > 0 else {
                // The loop serves its other connections first.
                return queueParse()
            }
            left -= 1
            do {
                guard try takeStep() else { break }
            } catch {
                refuse(error)
            }
        }
        // All complete requests have been answered, and no more follow.
        if peerEnd.isHalfClosed, state == .reading, hasRoomForAnswers { finish() }
        updateRequestDeadline()
    }

    private func parseLater() {
        turn.isParseQueued = false
        guard state == .reading, !turn.isParsing else { return }
        parse()
        flushUnlessReading()
        updateReading()
    }

    /// Handles the next result of the parser.
    ///
    /// - Returns: `false` if the parser needs more bytes.
    private func takeStep() throws(RequestError) -> Bool {
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
        writer = HTTPResponseWriter(
            keepsAlive: request.head.keepsAlive,
            isHTTP11: request.head.isHTTP11,
            isHead: request.method == .head
        )
        endRequestDeadline()
        services.register.requestCame(on: self)
        services.agent.receive(request, on: self)
    }

    private func refuse(_ refusal: RequestError) {
        state = .answering
        writer = HTTPResponseWriter(keepsAlive: false, isHTTP11: true, isHead: false)
        answer(HTTPResponse(refusal))
    }

    /// Starts the request deadline at the first byte of a request, not when the connection opens.
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

    /// Whether the queued responses leave room for another.
    private var hasRoomForAnswers: Bool {
        if (output?.readableBytes ?? 0) >= limits.unreadAnswers { flush() }
        return peerEnd.isTaking
    }

    private var mayRead: Bool {
        !peerEnd.isHalfClosed && (state == .draining || peerEnd.isTaking && input.count < limits.readAhead)
    }

    private func updateReading() { socket.setReading(mayRead) }

    /// Records that the peer sends no more; pending responses are still sent.
    private func inputEnded() {
        peerEnd.isHalfClosed = true
        switch state {
        case .reading: if !turn.isParsing, !turn.isParseQueued { parse() }
        case .draining: if socket.unsentCount == 0 { close() }
        case .answering, .streaming, .closed: break
        }
    }
}

// MARK: Responding

extension Connection {
    /// Sends `answer` as the response to the current request.
    func answer(_ answer: HTTPResponse) {
        guard !writer.isBare else {
            // A bare-token peer would take any response for a token, so it gets none.
            schedule(after: limits.withholdTime) { $0.close() }
            return
        }
        respond { writer, output in writer.write(answer, to: &output) }
    }

    /// Responds to the current request with the bytes that `write` appends.
    ///
    /// If `write` throws, the request still needs a response.
    func respond(_ write: (HTTPResponseWriter, inout ByteBuffer) throws -> Void) rethrows {
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
        var buffer = output.take() ?? services.output.take()
        defer { output = buffer }
        try write(&buffer)
    }

    /// Closes after the last response, and reads on for a while so that the peer receives it.
    private func finish() {
        state = .draining
        deadlines.request?.cancel()
        flush()
        input.clear()
        if socket.unsentCount > 0 {
            // The peer has a limited time to read them; ``sendUnsent()`` continues.
            schedule(after: limits.stallTime) { $0.close() }
            updateReading()
        } else {
            linger()
        }
    }

    /// Closes after the peer has had time to read the bytes in the kernel's buffer.
    private func linger() {
        // No input is left, so closing does not discard the written bytes.
        if peerEnd.isHalfClosed { return close() }
        socket.endOutput()
        schedule(after: limits.lingerTime) { $0.close() }
        updateReading()
    }

    private func flushUnlessReading() {
        if !turn.isInRead { flush() }
    }

    private func flush() {
        guard var buffer = output.take() else { return }
        send(&buffer)
        services.output.release(buffer)
    }

    private func send(_ buffer: inout ByteBuffer) {
        guard socket.send(&buffer) else { return inNextTurn { $0.close() } }
        recordUnsent()
    }

    /// Sends bytes that did not fit into the socket before.
    private func sendUnsent() {
        guard socket.sendUnsent() else { return close() }
        recordUnsent()
        guard socket.unsentCount == 0 else { return }
        switch state {
        case .streaming: if stream.hasPieceUnderWay { pieceTaken() }
        case .draining: linger()
        case .reading, .answering, .closed: break
        }
    }

    /// Stops reading requests while the peer has many unread responses, and closes if that lasts too long.
    private func recordUnsent() {
        if peerEnd.isTaking, socket.unsentCount > limits.unreadAnswers {
            peerEnd.isTaking = false
            deadlines.stall = schedule(after: limits.stallTime) { $0.close() }
        } else if !peerEnd.isTaking, socket.unsentCount < limits.unreadAnswers / 4 {
            peerEnd.isTaking = true
            deadlines.stall?.cancel()
            deadlines.stall = nil
            if state == .reading { continueReading() }
        }
        updateReading()
    }
}

// MARK: Endless responses

extension Connection {
    /// Begins an endless response with lines of `contentType`.
    func beginStream(_ contentType: StaticString) {
        guard state == .answering else { return }
        state = .streaming
        writer.keepsAlive = false
        append { writer.writeStreamHead(contentType, to: &$0) }
        flushUnlessReading()
    }

    /// Appends to the response begun by ``beginStream(_:)``, and drops a peer that leaves too much unread.
    ///
    /// `onTaken` is called when the peer has read everything, if it ever does.
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
        var rest = stream.takeAll()
        send(&rest)
        _ = services.backlog.update(self, unread: 0)
        finish()
    }

    /// Sends the next piece, after any earlier response.
    private func continueStream() {
        guard state == .streaming, var piece = stream.next() else { return }
        flush()
        send(&piece)
        if socket.unsentCount == 0 { pieceTaken() }
    }

    private func pieceTaken() {
        let onTaken = stream.pieceTaken()
        guard state == .streaming else { return }
        _ = services.backlog.update(self, unread: stream.unread)
        continueStream()
        onTaken?()
    }

    /// Closes the connection in the middle of the response, so that the peer can tell that it is incomplete.
    private func dropStream() {
        services.agent.streamDropped(self)
        close()
    }
}
