// SPDX-License-Identifier: MIT

import NIOCore

/// What all connections share, at whichever socket they come in.
///
/// Confined to the event loop.
final class ConnectionServices {
    let loop: AgentLoop
    let agent: any HTTPRequestServing
    let limits: RequestLimits
    let register: ConnectionRegister
    let input = SharedBuffer()
    let output = SharedBuffer()
    let backlog = StreamBacklog()

    init(loop: AgentLoop, agent: any HTTPRequestServing, limits: RequestLimits, register: ConnectionRegister)
    {
        self.loop = loop
        self.agent = agent
        self.limits = limits
        self.register = register
    }
}

/// One peer's connection: cuts bytes into requests, answers them in order, and bounds what the peer can use.
///
/// At most one request is being answered at a time, so pipelined answers keep their order by themselves.
final class Connection: DescriptorWatching, @unchecked Sendable {
    // Unchecked: every property is confined to the event loop.
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
        /// What has come is being read; answers are sent together when that is done.
        var isInRead = false
        /// The rest of the input is for a later turn.
        var isParseQueued = false
    }

    /// What the peer has stopped doing.
    private struct PeerEnd {
        /// It sends nothing more, and may still read.
        var isHalfClosed = false
        /// It takes its answers, so that few of them wait.
        var isTaking = true
    }

    private struct Deadlines {
        /// The peer has begun a request and has to finish it.
        var request: Scheduled<Void>?
        /// The peer has left answers unread and has to take them.
        var stall: Scheduled<Void>?
    }

    private(set) var caller: Caller
    private(set) var state = State.reading
    /// What the agent owes the peer beyond the present turn of the loop.
    var awaited: PendingReply?
    /// How the present request is to be answered.
    private(set) var writer = HTTPResponseWriter(keepsAlive: false, isHTTP11: true, isHead: false)
    private let services: ConnectionServices
    private var socket: PeerSocket
    private var senders: SenderVerifier?
    private var input: RequestInput
    private var output: ByteBuffer?
    private var stream = StreamOutput()
    private var turn = Turn()
    private var deadlines = Deadlines()
    private var peerEnd = PeerEnd()
    /// What the register remembers of the connection.
    var registration: ConnectionRegister.Entry?

    /// A connection at `socket`, from which nothing is read before ``begin()``.
    init(_ caller: Caller, _ services: ConnectionServices, socket: consuming PeerSocket) {
        self.caller = caller
        self.socket = socket
        self.services = services
        input = RequestInput(limits: services.limits)
    }

    var limits: RequestLimits { services.limits }

    /// The socket; `nil` once the connection is closed.
    var descriptor: CInt? { socket.descriptor }

    /// Whether nothing is owed to the peer.
    var isIdle: Bool { state == .reading || state == .draining }

    /// Begins to read; a request is often here by now.
    func begin() throws(PollFailure) {
        try socket.begin(self)
        // Between a look that finds nothing and the read, bytes of an unknown writer could come.
        if senders == nil { ready(.readable) }
    }

    /// Begins to answer `request` as though the peer had sent it: with a bare token, and then the end.
    func begin(answering request: HTTPRequest) throws(PollFailure) {
        try socket.begin(self)
        state = .answering
        writer = .bare
        services.register.requestCame(on: self)
        services.agent.receive(request, on: self)
    }

    /// Closes at once, whatever is under way.
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

    /// Whether part of a request has been read and the rest is not here.
    var hasPartOfRequest: Bool { state == .reading && input.hasPartOfRequest }

    /// Closes unless there are bytes that nobody has read.
    ///
    /// The last look comes after the kernel was told to take no more: a request that comes too late is
    /// refused at the peer's end, instead of being taken and lost.
    /// - Returns: whether it is closed.
    @discardableResult
    func closeUnlessAsked() -> Bool {
        if state == .reading, socket.hasUnreadBytes(stopping: false) || socket.hasUnreadBytes(stopping: true)
        {
            return false
        }
        close()
        return true
    }

    /// Limits the requests that follow to what `forwarding` names.
    func restrict(to forwarding: ForwardingRestriction) { caller.restrict(to: forwarding) }

    /// Watches from now on that only the process that connected writes to this connection.
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
    /// Requests of one peer that are answered in one turn of the loop: 16, less than a millisecond of work.
    private static let mostInTurn = 16
    /// Reads in one turn of the loop.
    private static let mostReads = 4

    func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { sendUnsent() }
        if !readiness.isDisjoint(with: [.readable, .gone]), mayRead { read() }
        // What it sent before it left is answered, as far as the answers can be kept.
        if !readiness.isDisjoint(with: .gone), peerEnd.isHalfClosed || !mayRead { close() }
    }

    func loopEnded() { close() }

    private func read() {
        turn.isInRead = true
        for _ in 0..<Self.mostReads where state != .closed && mayRead {
            guard readOnce() else { break }
        }
        turn.isInRead = false
        input.settle(services.input)
        flush()
        updateReading()
    }

    /// Reads and answers what has come; `false` if nothing more is expected here now.
    private func readOnce() -> Bool {
        senders?.look()
        switch input.read(from: socket, through: services.input) {
        case .bytes(let count):
            senders?.noteRead()
            if state == .draining { input.clear() } else if !turn.isParsing, !turn.isParseQueued { parse() }
            // Another read could find bytes that came after the look, and a short one has found the end.
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

    /// Goes on with the next request: in this turn of the loop while ``parse()`` runs, else in a later one.
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
        var left = Connection.mostInTurn
        while state == .reading, input.count > 0, hasRoomForAnswers {
            guard left > 0 else {
                // The loop looks at its other connections first.
                return queueParse()
            }
            left -= 1
            do {
                guard try takeStep() else { break }
            } catch {
                refuse(error)
            }
        }
        // All that came whole has been answered, and nothing follows.
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

    /// Handles what the parser finds next; `false` when it needs more bytes.
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
        return peerEnd.isTaking
    }

    private var mayRead: Bool {
        !peerEnd.isHalfClosed && (state == .draining || peerEnd.isTaking && input.count < limits.readAhead)
    }

    private func updateReading() { socket.setReading(mayRead) }

    /// Notes that the peer sends no more; it gets what it is still owed.
    private func inputEnded() {
        peerEnd.isHalfClosed = true
        switch state {
        case .reading: if !turn.isParsing, !turn.isParseQueued { parse() }
        case .draining: if socket.unsentCount == 0 { close() }
        case .answering, .streaming, .closed: break
        }
    }
}

// MARK: Answering

extension Connection {
    /// Answers the present request.
    func answer(_ answer: HTTPResponse) {
        guard !writer.isBare else {
            // Whoever is given nothing must not take that for a token.
            schedule(after: limits.withholdTime) { $0.close() }
            return
        }
        respond { writer, output in writer.write(answer, to: &output) }
    }

    /// Answers the present request with whatever `write` appends.
    ///
    /// If it throws, the request is still to be answered.
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

    /// Closes after the last answer, reading on for a while so that the peer surely gets it.
    private func finish() {
        state = .draining
        deadlines.request?.cancel()
        flush()
        input.clear()
        if socket.unsentCount > 0 {
            // The peer has time to read them, but not for ever; ``sendUnsent()`` goes on.
            schedule(after: limits.stallTime) { $0.close() }
            updateReading()
        } else {
            linger()
        }
    }

    /// Closes once the peer has had time to read what the kernel has for it.
    private func linger() {
        // Nothing is left to read: what is written still reaches the peer.
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
        services.output.giveBack(buffer)
    }

    private func send(_ buffer: inout ByteBuffer) {
        guard socket.send(&buffer) else { return inNextTurn { $0.close() } }
        noteUnsent()
    }

    /// Goes on with what the peer had no room for.
    private func sendUnsent() {
        guard socket.sendUnsent() else { return close() }
        noteUnsent()
        guard socket.unsentCount == 0 else { return }
        switch state {
        case .streaming: if stream.hasPieceUnderWay { pieceTaken() }
        case .draining: linger()
        case .reading, .answering, .closed: break
        }
    }

    /// Stops reading requests while the peer leaves many answers unread, for which it has some time.
    private func noteUnsent() {
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
        var rest = stream.takeAll()
        send(&rest)
        _ = services.backlog.update(self, unread: 0)
        finish()
    }

    /// Sends the next piece, after what was answered before.
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

    /// Ends the connection in the middle of the answer, so that the peer cannot take it for a whole one.
    private func dropStream() {
        services.agent.streamDropped(self)
        close()
    }
}
