// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import Text
import TokenCore

/// HTTP requests become calls of the agent here, and nowhere else.
extension SessionAgent: RequestAnswering {
    nonisolated func welcome(_ connection: Connection) {
        assumeIsolated { $0.lookFirst(at: connection) }
    }

    nonisolated func receive(_ request: HTTPRequest, on connection: Connection) {
        assumeIsolated { $0.handle(request, on: connection) }
    }

    nonisolated func peerLeft(_ connection: Connection) {
        assumeIsolated { $0.withdraw(connection) }
    }

    nonisolated func streamDropped(_ connection: Connection) {
        var metadata: Logger.Metadata = ["pid": "\(connection.peer.processID)"]
        if let path = connection.restrictedPath { metadata["socket"] = "\(path)" }
        ports.logger.notice("dropped a stream that its peer does not read", metadata: metadata)
    }

    /// The doors that every request passes, in this order.
    ///
    /// The socket comes first, which refuses most things whatever else is wrong with them. Then what the address is and
    /// whether it knows the method, which tells nothing about sessions. A request waits for the store before anything
    /// is said that depends on it, and for the peer's identity before anything that depends on the peer. Only then is it
    /// looked at which sessions there are.
    func handle(_ request: HTTPRequest, on connection: Connection) {
        let (path, query) = request.head.splitTarget
        let found = Route(path: path)
        let isIdentified = connection.witness.takeSettled()
        do throws(RequestFailure) {
            try checkSocket(connection, found)
            guard let route = found else { throw RequestFailure(nothingAt: path) }
            guard route.accepts(request.method) else { return refuseMethod(route, on: connection) }
            guard phase != .opening || worksOpening(route, connection) else {
                return arrivals.append(Arrival(request: request, connection: connection))
            }
            guard isIdentified || !mustIdentify(for: route) else {
                return identify(connection) { agent in agent.handle(request, on: connection) }
            }
            try checkListed(route, connection)
            guard isServing || route.traits.worksLocked else { throw RequestFailure.lockedAgent }
            guard !owesLook(route, query, connection) else {
                return look(for: connection) { agent in agent.handle(request, on: connection) }
            }
            try checkKnown(route, connection)
            try serve(route, request, query, on: connection)
        } catch {
            connection.answer(Answer(explained(error, to: connection)))
            auditHidden(error, found, connection)
        }
    }

    private func serve(
        _ route: Route,
        _ request: HTTPRequest,
        _ query: Substring,
        on connection: Connection
    ) throws(RequestFailure) {
        switch route {
        case .agent: connection.answer(agentStatus(for: connection))
        case .sessions: connection.answer(sessionList(for: connection))
        case .session(let name): connection.answer(try sessionStatus(name, for: connection))
        case .token(let name): try serveToken(of: name, request, query, on: connection)
        case .refresh(let name): try serveRefresh(of: name, request, on: connection)
        case .report(let name): try serveReport(request, TokenCall(connection: connection, session: name))
        case .login(let name): try serveLogin(to: name, request, on: connection)
        case .loginAnswer(let name, let number):
            connection.answer(try serveLoginAnswer(request, number, name))
        case .logout(let name): try serveLogout(of: name, request, on: connection)
        case .events: try serveEvents(query, on: connection)
        case .audit: try serveAudit(query, on: connection)
        case .metrics: connection.answer(metrics(for: connection))
        case .doctor: serveDoctor(on: connection)
        case .lock: serveLock(on: connection)
        case .unlock: try serveUnlock(request, on: connection)
        case .reload: try serveReload(request, on: connection)
        case .shutdown: serveShutdown(on: connection)
        case .vault: serveVaultStatus(on: connection)
        case .vaultInit: try serveInitialization(request, on: connection)
        case .vaultSlots: try serveSlotAddition(request, on: connection)
        case .vaultSlot(let index): try serveSlotRemoval(index, request, on: connection)
        case .vaultPassphrase: try servePassphraseChange(request, on: connection)
        case .vaultRekey: try serveRekey(request, on: connection)
        }
    }

    private func serveToken(
        of name: SessionName,
        _ request: HTTPRequest,
        _ query: Substring,
        on connection: Connection
    ) throws(RequestFailure) {
        let format: TokenCall.Format = request.head.prefersPlainText ? .text : .json
        let query = query.isEmpty ? TokenQuery() : try TokenQuery(query)
        let call = try TokenCall(query, for: name, as: format, on: connection)
        try checkVariant(query.variant, call)
        guard needsConfirmation(name, for: connection) else { return serveToken(query, call) }
        confirm(call, .token, query.variant, within: query.timeout) { $0.serveToken(query, $1) }
    }

    private func serveRefresh(
        of name: SessionName,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        try confirmed(TokenCall(connection: connection, session: name)) {
            agent,
            call throws(RequestFailure) in
            try agent.serveRefresh(request, call)
        }
    }

    private func serveLogin(
        to name: SessionName,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        try confirmed(TokenCall(connection: connection, session: name), to: .login) {
            agent,
            call throws(RequestFailure) in
            try agent.serveLogin(request, name, on: call.connection)
        }
    }

    private func serveLogout(
        of name: SessionName,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        try confirmed(TokenCall(connection: connection, session: name), to: .logout) {
            agent,
            call throws(RequestFailure) in
            try agent.serveLogout(request, name, on: call.connection)
        }
    }

    private func serveEvents(_ query: Substring, on connection: Connection) throws(RequestFailure) {
        let filter = try eventFilter(query)
        if let filter, !isConfigured(filter, for: connection) { throw unknown(filter) }
        subscribe(connection, to: filter)
    }

    private func serveShutdown(on connection: Connection) {
        audit(.shutdown, .done, by: AuditRecord.Origin(connection))
        connection.answer(.json(["stopping": true]))
        onShutdownRequest()
    }

    private func serveInitialization(
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        try serveNewSlot(.made, request, on: connection) { store, slot, proof throws(StoreRefusal) in
            try store.initialize(slot, proof)
        }
    }

    private func serveSlotAddition(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        try serveNewSlot(.slotAdded, request, on: connection) { store, slot, proof throws(StoreRefusal) in
            try store.addSlot(slot, proof)
        }
    }

    /// Asks a person first, where the session's rules want it.
    func confirmed(
        _ call: TokenCall,
        to action: ConfirmedAction = .token,
        _ serve: @escaping @Sendable (isolated SessionAgent, TokenCall) throws(RequestFailure) -> Void
    ) throws(RequestFailure) {
        guard needsConfirmation(call.session, for: call.connection) else { return try serve(self, call) }
        confirm(call, action, .primary, within: nil, then: serve)
    }

    private func refuseMethod(_ route: Route, on connection: Connection) {
        let method = route.traits.method
        let allowed = method == .get ? "GET, HEAD" : method.rawValue
        let message = "This address answers \(allowed)."
        var answer = Answer(RequestFailure(code: .badRequest, message: message))
        answer.status = .methodNotAllowed
        answer.fields.append(Answer.Field(name: "Allow", value: allowed))
        connection.answer(answer)
    }

    /// `?session=NAME`: only the events of that session.
    func eventFilter(_ query: Substring) throws(RequestFailure) -> SessionName? {
        guard !query.isEmpty else { return nil }
        guard let parameters = RequestTarget.parameters(of: query), parameters.count == 1,
            parameters[0].name == "session", !parameters[0].value.isEmpty
        else { throw RequestFailure(code: .badRequest, message: "The only parameter is session=NAME.") }
        return try SessionName(asked: parameters[0].value)
    }
}

extension SessionName {
    /// The name that a parameter gives; what can be no name is one that nothing has.
    init(asked text: String) throws(RequestFailure) {
        guard let name = SessionName(text) else { throw .noSuchName }
        self = name
    }
}

extension HTTPRequestHead {
    /// The path, and the query without its question mark.
    fileprivate var splitTarget: (path: Substring, query: Substring) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (target[...], "") }
        return (target[..<mark], target[target.utf8.index(after: mark)...])
    }
}
