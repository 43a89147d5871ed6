// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What is answered at a `[[socket]]`, whose peers are trusted with tokens and with nothing else.
extension SessionAgent {
    /// What a restricted socket refuses, before anything else about the request is looked at.
    func checkSocket(_ connection: Connection, _ route: Route?) throws(RequestFailure) {
        guard connection.restrictedPath != nil else { return }
        guard restriction(of: connection) != nil, route?.traits.worksAtRestrictedSocket == true else {
            throw RequestFailure(
                code: .denied,
                message: "This socket gives out tokens, says what they are for, and nothing else."
            )
        }
    }

    /// The socket as it is configured now; `nil`: the agent's own, or one that is no longer there.
    func restriction(of connection: Connection) -> RestrictedSocket? {
        connection.restrictedPath.flatMap { path in configuration.sockets.first { $0.path == path } }
    }

    /// What may be asked for beside the plain token is what the socket's table names.
    func checkVariant(_ variant: TokenVariant, _ call: TokenCall) throws(RequestFailure) {
        guard variant != .primary, call.connection.restrictedPath != nil else { return }
        let socket = restriction(of: call.connection)
        if let scope = variant.scopes.first(where: { socket?.scopes.contains($0.bytewise) != true }) {
            throw .notGivenOut(scope, called: "scope", key: "scopes", of: call.session)
        }
        if let audience = variant.audience, socket?.audiences.contains(audience.bytewise) != true {
            throw .notGivenOut(audience, called: "audience", key: "audiences", of: call.session)
        }
    }

    /// Serves `GET /v1/sessions/NAME` there.
    func restrictedStatus(_ kept: KeptSession) -> JSONValue {
        kept.session.status.restrictedJSON(kept.settings, at: ports.timekeeper.moment)
    }

    /// Whether `call` may have its token made now; else it waits for the one that is being made for its socket.
    func takesTurn(_ need: TokenNeed, _ query: TokenQuery, _ call: TokenCall) -> Bool {
        guard let path = call.connection.restrictedPath else { return true }
        let turn = SocketUse.Turn(session: call.session, variant: need.variant)
        guard !socketUse.begin(turn, for: call.connection, at: path) else { return true }
        let waiting = SocketUse.Waiting(turn: turn, query: query, call: call, deadline: need.deadline)
        guard need.deadline > ports.timekeeper.now else {
            refuseOverdue(waiting)
            return false
        }
        call.connection.awaited = .turn
        socketUse.add(waiting, at: path)
        let patience = need.deadline - ports.timekeeper.now
        eventLoop.scheduleTask(in: .nanoseconds(patience.saturatedNanoseconds)) { [weak self] in
            self?.assumeIsolated { $0.endOverdueTurns() }
        }
        return false
    }

    /// The connection has its answer, or is gone: the next of its socket may have a token made.
    func endTurn(of connection: Connection) {
        guard let path = connection.restrictedPath else { return }
        for next in socketUse.end(for: connection, at: path) {
            later { agent in
                next.call.connection.awaited = nil
                guard next.call.connection.state == .answering else {
                    return agent.endTurn(of: next.call.connection)
                }
                guard agent.isServing else { return agent.answer(agent.stopping, to: next.call) }
                var query = next.query
                query.timeout = max(.zero, next.deadline - agent.ports.timekeeper.now)
                agent.serveToken(query, next.call)
            }
        }
    }

    /// Answers the requests whose turn has not come in time.
    func endOverdueTurns() {
        for waiting in socketUse.takeOverdue(at: ports.timekeeper.now) { refuseOverdue(waiting) }
    }

    /// Answers all requests whose turn has not come: the agent locks or stops.
    func refuseTurns(_ failure: RequestFailure) {
        for waiting in socketUse.takeAll() { answer(failure, to: waiting.call) }
    }

    private func refuseOverdue(_ waiting: SocketUse.Waiting) {
        let failure = RequestFailure(
            code: .temporarilyUnavailable,
            message: "Another token is still being fetched for this socket.",
            session: waiting.call.session,
            retryAfter: .seconds(1)
        )
        answer(failure, to: waiting.call)
    }

    /// Serves `POST …/report` there: a refresh now and then, and never more than that.
    ///
    /// Whoever reaches the socket may say anything about a token. So nothing is believed that would end the session
    /// or take a token from others: the body is not looked at, and no token counts as refused.
    func follow(
        _ refusal: ResourceRefusal,
        of text: String,
        _ variant: TokenVariant?,
        atSocket path: String,
        _ call: TokenCall
    ) throws(RequestFailure) {
        guard let kept = sessions[call.session] else { throw unknown(call.session) }
        let token = try rejectedToken(text, variant, in: kept)
        try checkVariant(token.variant, call)
        guard case .tokenRefused = refusal.verdict(for: kept.settings), kept.session.canRefresh,
            kept.session.heldTokens[token.variant] != nil,
            !token.isHeld || socketUse.mayRefresh(call.session, forReportAt: path, at: ports.timekeeper.now)
        else { return call.connection.answer(.json(["action": "none"])) }
        // What helps is a token, which a person may want to be asked about.
        try confirmed(call) { agent, call throws(RequestFailure) in
            var call = call
            call.format = .retry
            agent.forceRefresh(token.variant, rejecting: token.secret, call)
        }
    }
}

extension RequestFailure {
    fileprivate static func notGivenOut(
        _ wanted: String,
        called name: String,
        key: String,
        of session: SessionName
    ) -> RequestFailure {
        let shown = ServerText.cleaned(wanted)
        return RequestFailure(
            code: .denied,
            message: "This socket gives out no tokens of the \(name) \"\(shown)\".",
            session: session,
            remedy: "add it to \(key) of this [[socket]] in the agent's configuration, then tokenctl reload"
        )
    }
}

extension SessionStatus {
    /// The session as it is shown at a `[[socket]]`: what a helper has to know, and nothing of the login.
    fileprivate func restrictedJSON(_ settings: SessionSettings, at moment: Moment) -> JSONValue {
        var object = JSONObject()
        object["session"] = .string(name.description)
        object["state"] = .string(state.rawValue)
        if !settings.hosts.isEmpty { object["hosts"] = .strings(settings.hosts) }
        object["expires_at"] = tokenExpiresAt.map { .integer(moment.wallTime(at: $0).secondsSince1970) }
        object["expires_in"] = tokenExpiresAt.map { .integer(max(0, ($0 - moment.now).wholeSeconds)) }
        return .object(object)
    }
}
