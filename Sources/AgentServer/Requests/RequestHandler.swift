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
            guard isServing || route.worksLocked else { throw RequestFailure.lockedAgent }
            guard !owesLook(route, query, connection) else {
                return look(for: connection) { agent in agent.handle(request, on: connection) }
            }
            try checkKnown(route, connection)
            try dispatch(route, request, query, on: connection)
        } catch {
            connection.answer(Answer(explained(error, to: connection)))
            auditHidden(error, found, connection)
        }
    }

    private func dispatch(
        _ route: Route,
        _ request: HTTPRequest,
        _ query: Substring,
        on connection: Connection
    ) throws(RequestFailure) {
        switch route {
        case .token(let name):
            let format: TokenCall.Format = request.head.prefersPlainText ? .text : .json
            let query = query.isEmpty ? TokenQuery() : try TokenQuery(query)
            let call = try TokenCall(query, for: name, as: format, on: connection)
            try checkVariant(query.variant, call)
            guard needsConfirmation(name, for: connection) else { return serveToken(query, call) }
            confirm(call, .token, query.variant, within: query.timeout) { $0.serveToken(query, $1) }
        case .refresh(let name):
            try confirmed(TokenCall(connection: connection, session: name)) {
                agent,
                call throws(RequestFailure) in
                try agent.serveRefresh(request, call)
            }
        case .report(let name): try serveReport(request, TokenCall(connection: connection, session: name))
        case .login(let name):
            try confirmed(TokenCall(connection: connection, session: name), to: .login) {
                agent,
                call throws(RequestFailure) in
                try agent.serveLogin(request, name, on: call.connection)
            }
        case .loginAnswer(let name, let number):
            connection.answer(try serveLoginAnswer(request, number, name))
        case .logout(let name):
            try confirmed(TokenCall(connection: connection, session: name), to: .logout) {
                agent,
                call throws(RequestFailure) in
                try agent.serveLogout(request, name, on: call.connection)
            }
        case .session(let name): connection.answer(try sessionStatus(name, for: connection))
        case .sessions: connection.answer(sessionList(for: connection))
        case .audit: try serveAudit(query, on: connection)
        case .events:
            let filter = try eventFilter(query)
            if let filter, !isConfigured(filter, for: connection) { throw unknown(filter) }
            subscribe(connection, to: filter)
        case .agent, .metrics, .doctor, .lock, .unlock, .reload, .shutdown:
            try dispatchAgent(route, request, on: connection)
        case .vault, .vaultInit, .vaultSlots, .vaultSlot, .vaultPassphrase, .vaultRekey:
            try dispatchVault(route, request, on: connection)
        }
    }

    private func dispatchAgent(
        _ route: Route,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        switch route {
        case .agent: connection.answer(agentStatus(for: connection))
        case .metrics: connection.answer(metrics(for: connection))
        case .doctor: serveDoctor(on: connection)
        case .lock: serveLock(on: connection)
        case .unlock: try serveUnlock(request, on: connection)
        case .reload: try serveReload(request, on: connection)
        case .shutdown:
            audit(.shutdown, .done, by: AuditRecord.Origin(connection))
            connection.answer(.json(["stopping": true]))
            onShutdownRequest()
        case .sessions, .session, .token, .refresh, .report, .login, .loginAnswer, .logout, .events, .audit,
            .vault,
            .vaultInit, .vaultSlots, .vaultSlot, .vaultPassphrase, .vaultRekey:
            break
        }
    }

    private func dispatchVault(
        _ route: Route,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        switch route {
        case .vaultInit:
            try serveNewSlot(.made, request, on: connection) { store, slot, proof throws(StoreRefusal) in
                try store.initialize(slot, proof)
            }
        case .vaultSlots:
            try serveNewSlot(.slotAdded, request, on: connection) { store, slot, proof throws(StoreRefusal) in
                try store.addSlot(slot, proof)
            }
        case .vaultSlot(let index): try serveSlotRemoval(index, request, on: connection)
        case .vaultPassphrase: try servePassphraseChange(request, on: connection)
        case .vaultRekey: try serveRekey(request, on: connection)
        case .vault, .agent, .sessions, .session, .token, .refresh, .report, .login, .loginAnswer, .logout,
            .events, .audit, .metrics, .doctor, .lock, .unlock, .reload, .shutdown:
            serveVaultStatus(on: connection)
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
        let allowed = route.method == .get ? "GET, HEAD" : route.method.rawValue
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

extension Route {
    fileprivate func accepts(_ given: HTTPRequest.Method) -> Bool {
        // An endless answer has no head to show.
        if given == .head { return method == .get && self != .events && self != .audit }
        return given == method
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
