// SPDX-License-Identifier: MIT

import NIOCore

extension Connection {
    /// Requests of one peer that are answered in one turn of the loop: 16, less than a millisecond of work.
    private static let mostInTurn = 16
    /// How long whoever has sent more waits, so that the loop looks at its other connections: it does not before all
    /// that is to be done at once is done.
    private static let pauseOfTurn = TimeAmount.microseconds(50)

    /// Goes on with the next request: in this turn of the loop when it was asked for in it, else in a later one.
    func continueReading() {
        guard !isParsing else { return }
        flushUnlessReading()
        guard input.readableBytes > 0 else { return isHalfClosed ? finish() : resumeReadIfPossible() }
        context?.eventLoop.execute { [self] in
            guard state == .reading, !isParsing else { return }
            parse()
            flushUnlessReading()
        }
    }

    func parse() {
        isParsing = true
        defer { isParsing = false }
        var left = Connection.mostInTurn
        while state == .reading, hasRoomForAnswers {
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

    /// Leaves what else has come for a later turn of the loop.
    private func letOthersIn() {
        schedule(after: Connection.pauseOfTurn) { connection in
            guard connection.state == .reading, !connection.isParsing else { return }
            connection.parse()
            connection.flushUnlessReading()
        }
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
        hasHadRequest = true
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

    var mayRead: Bool {
        state == .draining || input.readableBytes < limits.readAhead && context?.channel.isWritable ?? false
    }

    func resumeReadIfPossible() {
        guard holdsRead, mayRead else { return }
        holdsRead = false
        context?.read()
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
