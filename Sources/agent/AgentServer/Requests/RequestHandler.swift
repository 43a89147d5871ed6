// SPDX-License-Identifier: MIT

import AgentProtocol
import Logging
import NIOCore
import Text
import TokenCore

/// The handler of all HTTP requests.
///
/// It checks every request in a fixed order, then passes it to the part that serves its route.
///
/// - Entry points: ``handle(_:on:in:)``, ``withdraw(_:in:)``, ``refuseAll(_:within:in:)``.
/// - May not: reveal a session to a peer before the check that it is visible.
/// - Runs on: the agent's event loop, to which it is confined.
final class RequestHandler {
    let tokens: TokenRequests
    let reports: RefusalReports
    let logins: Logins
    let logouts: Logouts
    let events: Subscriptions
    let audit: AuditLog
    let vault: VaultRequests
    let arrivals: UnlockQueue
    let examinations: ServerProbes
    private let confirmations: Confirmations
    private let turns: RequesterLimiter
    private let status: StatusRequests
    let examiner: PeerInspector
    private let onShutdownRequest: @Sendable () -> Void

    init(
        ports: AgentPorts,
        identity: AgentDescription,
        audit: AuditLog,
        eventLoop: any EventLoop,
        onShutdownRequest: @escaping @Sendable () -> Void
    ) {
        self.audit = audit
        self.onShutdownRequest = onShutdownRequest
        examiner = PeerInspector(processes: ports.processes)
        turns = RequesterLimiter(eventLoop: eventLoop)
        tokens = TokenRequests(
            ports: ports,
            examiner: examiner,
            turns: turns,
            fleetReadQueue: FleetReadWaiters(eventLoop: eventLoop)
        )
        confirmations = Confirmations(commands: ports.commands, logger: ports.logger, tokens: tokens)
        reports = RefusalReports(
            memory: ports.memory,
            tokens: tokens,
            turns: turns,
            confirmations: confirmations
        )
        logouts = Logouts(
            late: OrphanedTokenRevocations(alarm: Alarm(eventLoop: eventLoop, timekeeper: ports.timekeeper))
        )
        logins = Logins(
            authorization: ports.authorization,
            memory: ports.memory,
            eventLoop: eventLoop
        )
        events = Subscriptions(observer: ports.observer)
        vault = VaultRequests(
            store: ports.store,
            timekeeper: ports.timekeeper,
            eventLoop: eventLoop,
            confirmations: confirmations
        )
        arrivals = UnlockQueue(eventLoop: eventLoop)
        examinations = ServerProbes(ports.diagnostics)
        status = StatusRequests(ports: ports, identity: identity)
    }

    // MARK: Checks

    /// Starts to inspect a peer that has connected, before anything is read from it.
    func connectionOpened(_ connection: Connection, in agent: isolated SessionAgent) {
        if agent.configuration.rules.exist { examiner.lookFirst(at: connection) }
        if audit.isKept { examiner.see(connection, in: agent) }
    }

    /// Checks a request in the order below, then serves it.
    ///
    /// The socket comes first: a restricted socket rejects most requests, whatever else is wrong with them.
    /// Then come the address and the method, which reveal nothing about sessions. A request waits for the
    /// store before anything is said that depends on it, and for the peer's identity before anything that
    /// depends on the peer. Only then are the sessions accessed.
    func handle(_ request: HTTPRequest, on connection: Connection, in agent: isolated SessionAgent) {
        let found = request.head.address.route
        let isIdentified = connection.caller.witness.takeIdentified()
        let configuration = agent.configuration
        connection.caller.witness.recordClaim(request.head.claimedCaller)
        connection.caller.witness.recordListener(configuration.listener(claimed: request.head.listener))
        do throws(RequestFailure) {
            try checkSocket(connection, found, configuration)
            guard let route = found else { throw RequestFailure(nothingAt: request.head.address.path) }
            guard route.accepts(request.method) else { return refuseMethod(route, on: connection) }
            guard agent.phase != .opening || works(route, connection, whileOpening: configuration) else {
                return arrivals.add(request, on: connection)
            }
            guard isIdentified || !configuration.mustIdentify(for: route) else {
                return examiner.identify(connection, in: agent) { agent in
                    agent.requests.handle(request, on: connection, in: agent)
                }
            }
            if let name = route.session, !configuration.isListed(name, at: connection) {
                throw .unknown(name)
            }
            guard agent.isServing || route.traits.worksLocked else { throw .lockedAgent }
            if route.handingOut != nil { agent.rest.clocks.compare(in: agent) }
            let kept = route.session.flatMap { agent.sessions[$0] }
            if agent.phase == .working,
                configuration.shouldCheckForChanges(
                    request,
                    isKept: kept != nil,
                    for: connection,
                    at: agent.now
                )
            {
                return look(for: connection, in: agent) { agent in
                    agent.requests.handle(request, on: connection, in: agent)
                }
            }
            try checkKnown(route, isKept: kept != nil, connection, configuration)
            try serve(route, of: kept, request, on: connection, in: agent)
        } catch {
            connection.answer(HTTPResponse(configuration.explained(error, to: connection)))
            auditHidden(error, found, connection, in: agent)
        }
    }

    /// Handles a request that waited for the store.
    func handle(_ arrival: QueuedRequest, in agent: isolated SessionAgent) {
        handle(arrival.request, on: arrival.connection, in: agent)
    }

    /// Rejects what a restricted socket does not serve, before anything else of the request is examined.
    ///
    /// The peers of such a socket are trusted with tokens and with nothing else.
    private func checkSocket(
        _ connection: Connection,
        _ route: Route?,
        _ configuration: LiveConfiguration
    ) throws(RequestFailure) {
        guard let restriction = connection.caller.restriction else { return }
        guard configuration.sessions(of: restriction) != nil, route?.traits.worksAtRestrictedSocket == true
        else {
            throw RequestFailure(
                code: .denied,
                message: "not permitted at this socket: it provides only tokens and their sessions"
            )
        }
    }

    private func refuseMethod(_ route: Route, on connection: Connection) {
        let method = route.traits.method
        let allowed = method == .get ? "GET, HEAD" : method.rawValue
        let message = "method not allowed (allowed: \(allowed))"
        var answer = HTTPResponse(RequestFailure(code: .badRequest, message: message))
        answer.status = .methodNotAllowed
        answer.fields.append(HTTPResponse.Field(name: "Allow", value: allowed))
        connection.answer(answer)
    }

    /// Returns whether `route` can be served without the sessions.
    private func works(
        _ route: Route,
        _ connection: Connection,
        whileOpening configuration: LiveConfiguration
    ) -> Bool {
        switch route.traits.whileOpening {
        case .waits: false
        case .isAnswered: true
        case .isAnsweredWhereNothingIsHidden:
            !configuration.rules.exist && !connection.caller.isRestricted
        }
    }

    /// Reloads the configuration if it has changed, then calls `proceed` if the peer is still waiting.
    private func look(
        for connection: Connection,
        in agent: isolated SessionAgent,
        then proceed: @escaping @Sendable (isolated SessionAgent) -> Void
    ) {
        Task {
            if await agent.configuration.hasChanged() {
                // An error in the configuration is in the log, and in the responses from now on.
                _ = try? await agent.configuration.reload(by: .peer(of: connection), in: agent)
            }
            if connection.state == .answering { proceed(agent) }
        }
    }

    /// Checks that the session of `route` exists and is visible to the peer.
    ///
    /// This is the only place that decides it, before anything else of the request is examined. So neither
    /// the response nor its timing distinguishes a hidden session from one that does not exist.
    private func checkKnown(
        _ route: Route,
        isKept: Bool,
        _ connection: Connection,
        _ configuration: LiveConfiguration
    ) throws(RequestFailure) {
        guard let name = route.session, !isKept || !configuration.isShown(name, to: connection) else {
            return
        }
        throw .unknown(name)
    }

    /// Records in the audit log that the peer requested a token of a session that is hidden from it.
    private func auditHidden(
        _ failure: RequestFailure,
        _ route: Route?,
        _ connection: Connection,
        in agent: isolated SessionAgent
    ) {
        guard failure.code == .notFound, let name = route?.handingOut else { return }
        guard connection.caller.isRestricted || agent.sessions[name] != nil else { return }
        audit.add(.hidden, name, connection)
    }
}

// MARK: Serving each route

extension RequestHandler {
    private func serve(
        _ route: Route,
        of kept: SessionEntry?,
        _ request: HTTPRequest,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let query = request.head.address.query
        switch route {
        case .agent: connection.answer(status.agent(for: connection, in: agent))
        case .sessions: connection.answer(status.sessions(for: connection, in: agent))
        case .session(let name): connection.answer(try status.session(name, for: connection, in: agent))
        case .token(let name):
            guard let kept else { throw .unknown(name) }
            try serveToken(of: kept, request, on: connection, in: agent)
        case .aws(let name):
            guard let kept else { throw .unknown(name) }
            try serveRole(of: kept, request, on: connection, in: agent)
        case .refresh(let name): try serveRefresh(of: name, request, on: connection, in: agent)
        case .report(let name):
            if kept?.settings.hasRoleCredentials == true { throw .roleCredentials(of: name) }
            try reports.serve(request, PendingTokenRequest(connection: connection, session: name), in: agent)
        case .login(let name):
            try serveLogin(to: name, on: connection, in: agent) { agent, call throws(RequestFailure) in
                try agent.requests.logins.serve(request, name, on: call.connection, in: agent)
            }
        case .loginAnswer(let name, let number):
            connection.answer(try logins.serveAnswer(request, number, name))
        case .logout(let name): try serveLogout(of: name, request, on: connection, in: agent)
        case .clientSecret(let name):
            try serveLogin(to: name, on: connection, in: agent) { agent, call throws(RequestFailure) in
                try agent.requests.logins.serveClientSecret(request, name, on: call.connection, in: agent)
            }
        case .events: try events.serve(query, on: connection, in: agent)
        case .audit: try audit.serve(query, on: connection, in: agent)
        case .metrics: connection.answer(status.metrics(for: connection, in: agent))
        case .doctor: status.serveDoctor(on: connection, in: agent)
        case .examine: try examinations.serve(request, on: connection, in: agent)
        case .restrict: try ForwardingRestriction.serve(request, on: connection)
        case .lock: vault.serveLock(on: connection, in: agent)
        case .unlock: try vault.serveUnlock(request, on: connection, in: agent)
        case .reload: try serveReload(request, on: connection, in: agent)
        case .shutdown: serveShutdown(on: connection)
        case .vault: vault.serveStatus(on: connection, in: agent)
        case .vaultInit: try vault.serveInitialization(request, on: connection, in: agent)
        case .vaultSlots: try vault.serveSlotAddition(request, on: connection, in: agent)
        case .vaultSlot(let index): try vault.serveSlotRemoval(index, request, on: connection, in: agent)
        case .vaultPassphrase: try vault.servePassphraseChange(request, on: connection, in: agent)
        case .vaultRekey: try vault.serveRekey(request, on: connection, in: agent)
        case .fleet, .fleetJoin, .fleetLeave, .fleetRepair, .fleetRemove:
            try FleetRequests().serve(route, request, on: connection, in: agent)
        }
    }

    private func serveToken(
        of kept: SessionEntry,
        _ request: HTTPRequest,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let name = kept.session.name
        if kept.settings.hasRoleCredentials { throw .roleCredentials(of: name) }
        let query = request.head.address.query
        let format: PendingTokenRequest.Format = request.head.prefersPlainText ? .text : .json
        if query.isEmpty, !agent.configuration.needsConfirmation(name, for: connection),
            tokens.serveStanding(kept, as: format, on: connection, in: agent)
        {
            return
        }
        let wanted = query.isEmpty ? TokenQuery() : try TokenQuery(query)
        let call = try PendingTokenRequest(wanted, for: name, as: format, on: connection)
        try agent.configuration.checkVariant(wanted.variant, call)
        try confirmations.confirmed(call, to: .token, wanted.variant, within: wanted.timeout, in: agent) {
            $0.requests.tokens.serve(wanted, $1, in: $0)
        }
    }

    /// Serves `GET …/aws`: the credentials of a role, in the format of the AWS SDKs.
    private func serveRole(
        of kept: SessionEntry,
        _ request: HTTPRequest,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let name = kept.session.name
        let query = request.head.address.query
        let wanted = try RoleQuery(query, of: name, kept.settings.policy.roles).wanted
        let call = try PendingTokenRequest(wanted, for: name, as: .role, on: connection)
        try agent.configuration.checkVariant(wanted.variant, call)
        try confirmations.confirmed(call, to: .token, wanted.variant, within: wanted.timeout, in: agent) {
            $0.requests.tokens.serve(wanted, $1, in: $0)
        }
    }

    private func serveRefresh(
        of name: SessionName,
        _ request: HTTPRequest,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        var asked = PendingTokenRequest(connection: connection, session: name)
        if agent.configuration[name]?.hasRoleCredentials == true { asked.format = .renewal }
        try confirmations.confirmed(asked, in: agent) {
            agent,
            call throws(RequestFailure) in
            try agent.requests.reports.serveRefresh(request, call, in: agent)
        }
    }

    /// Runs `serve` for a login, or a part of one such as `POST …/client-secret`, once it is confirmed.
    private func serveLogin(
        to name: SessionName,
        on connection: Connection,
        in agent: isolated SessionAgent,
        _ serve:
            @escaping @Sendable (isolated SessionAgent, PendingTokenRequest) throws(RequestFailure) -> Void
    ) throws(RequestFailure) {
        let call = PendingTokenRequest(connection: connection, session: name)
        try confirmations.confirmed(call, to: .login, in: agent, serve)
    }

    private func serveLogout(
        of name: SessionName,
        _ request: HTTPRequest,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        try confirmations.confirmed(
            PendingTokenRequest(connection: connection, session: name),
            to: .logout,
            in: agent
        ) { agent, call throws(RequestFailure) in
            try agent.requests.logouts.serve(request, name, on: call.connection, in: agent)
        }
    }

    /// Serves `POST /v1/reload`.
    ///
    /// With `check` it only reports what a reload would change.
    private func serveReload(
        _ request: HTTPRequest,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let isCheck = try RequestBody(request.body, ReloadMembers.self).value(\.check) ?? false
        let configuration = agent.configuration
        Task {
            do throws(RequestFailure) {
                let known = configuration.shownNames(to: connection)
                let changes =
                    isCheck
                    ? try await configuration.changes()
                    : try await configuration.reload(by: .peer(of: connection), in: agent)
                var shown = changes.limited { name in
                    guard configuration[name] == nil else {
                        return configuration.isShown(name, to: connection)
                    }
                    // A removed session had rules that are known. Those of an added session are not known
                    // yet.
                    return isCheck ? !configuration.rules.exist : known.contains(name)
                }
                shown.mistakes.removeAll { !configuration.isShown($0, to: connection) }
                var message = shown.wire
                message.sessions = Int64(configuration.shownNames(to: connection).count)
                connection.answer(.message(message))
            } catch {
                connection.answer(HTTPResponse(error))
            }
        }
    }

    private func serveShutdown(on connection: Connection) {
        audit.add(.shutdown, .done, by: .peer(of: connection))
        connection.answer(.message(ShutdownResponseMessage { $0.stopping = true }))
        onShutdownRequest()
    }
}

// MARK: Waiting requests

extension RequestHandler {
    /// Runs the work that has become due.
    func timeReached(in agent: isolated SessionAgent) {
        vault.timeReached()
        tokens.endOverdueTurns(in: agent)
        logouts.late.timeReached(in: agent)
    }

    /// Removes what a peer that left was waiting for.
    ///
    /// Work that it started continues for others.
    func withdraw(_ connection: Connection, in agent: isolated SessionAgent) {
        defer { connection.awaited = nil }
        arrivals.withdraw(connection)
        tokens.endTurn(of: connection, in: agent)
        switch connection.awaited {
        case .token(let name, let waiter): tokens.withdraw(waiter, of: name, in: agent)
        case .login(let number): logins.cancel(number, in: agent)
        case .logout(let name): logouts.withdraw(connection, from: name)
        case .events:
            events.withdraw(connection)
            audit.withdraw(connection)
        case .confirmation(let key): confirmations.withdraw(connection, from: key)
        case .turn, .fleet, nil: break
        }
    }

    /// Fails all waiting requests as the agent locks, and lets requests in flight finish within `limit`.
    func refuseAll(
        _ failure: RequestFailure,
        within limit: TimeAmount,
        in agent: isolated SessionAgent
    ) async {
        refuseThoseInQueues(failure, in: agent)
        logins.refuseUnstored(failure, in: agent)
        // Bare-token peers cannot be sent an error, so they keep waiting.
        tokens.preparations.withdrawAll(in: agent)
        tokens.refuseWaiting(failure, in: agent)
        logouts.refuseAll(failure)
        logouts.late.end()
        await agent.work.drain(within: limit)
        logins.refuseAll(agent.stopping, in: agent)
    }

    /// Fails all requests that wait for a session that is being removed.
    func refuseAll(_ failure: RequestFailure, about name: SessionName, in agent: isolated SessionAgent) {
        logins.refuseAll(failure, of: name, in: agent)
        tokens.preparations.refuse(failure, for: name, in: agent)
        tokens.refuseWaiting(failure, for: name, in: agent)
        logouts.refuseAll(failure, of: name)
    }

    /// The number of requests that wait for the user.
    var waitingForPerson: Int { confirmations.waitingCount }

    /// The number of requests that wait for their turn at a `[[socket]]`.
    var waitingForTurn: Int { turns.waitingCount }

    /// Fails the requests that wait for the user or for their turn.
    ///
    /// No work for their tokens has started.
    private func refuseThoseInQueues(_ failure: RequestFailure, in agent: isolated SessionAgent) {
        confirmations.refuseAll(failure, in: agent)
        for waiting in turns.takeAll() { tokens.answer(failure, to: waiting.call, in: agent) }
    }

    /// Begins to stop.
    ///
    /// From now on only requests in flight are waited for.
    func beginStopping(in agent: isolated SessionAgent) {
        vault.close()
        arrivals.refuse(agent.stopping)
        refuseThoseInQueues(agent.stopping, in: agent)
    }

    /// Fails the remaining requests once nothing is in flight any more.
    func finishStopping(in agent: isolated SessionAgent) async {
        logins.refuseAll(agent.stopping, in: agent)
        tokens.preparations.refuse(agent.stopping, in: agent)
        tokens.refuseWaiting(agent.stopping, in: agent)
        events.end()
        await audit.end()
        await vault.finish()
    }
}

/// The agent's receiver of the socket's requests.
struct RequestReceiver: HTTPRequestServing {
    let agent: SessionAgent

    func connectionOpened(_ connection: Connection) {
        agent.assumeIsolated { $0.requests.connectionOpened(connection, in: $0) }
    }

    func prepareToken(
        of session: SessionName,
        then done: @escaping @Sendable (RequestFailure?) -> Void
    ) {
        agent.assumeIsolated { $0.requests.tokens.preparations.prepare(session, in: $0, then: done) }
    }

    func receive(_ request: HTTPRequest, on connection: Connection) {
        agent.assumeIsolated { $0.requests.handle(request, on: connection, in: $0) }
    }

    func peerLeft(_ connection: Connection) {
        agent.assumeIsolated { $0.requests.withdraw(connection, in: $0) }
    }

    func streamDropped(_ connection: Connection) {
        var metadata: Logger.Metadata = ["pid": "\(connection.caller.peer.processID)"]
        if let path = connection.caller.socketPath { metadata["socket"] = "\(path)" }
        agent.ports.logger.notice("stream dropped: the peer does not read it", metadata: metadata)
    }
}

extension SessionName {
    /// Parses the session name in a parameter.
    ///
    /// A text that cannot be a name is reported as unknown.
    init(asked text: String) throws(RequestFailure) {
        guard let name = SessionName(text) else { throw .noSuchName }
        self = name
    }
}
