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
/// - Entry points: ``handle(_:on:)``, ``withdraw(_:)``, ``refuseAll(_:within:)``.
/// - May not: reveal a session to a peer before the check that it is visible.
/// - Runs on: the agent's event loop, to which it is confined.
final class RequestHandler {
    let tokens: TokenRequests
    let reports: RejectionReports
    let logins: Logins
    let logouts: Logouts
    let vault: VaultRequests
    let arrivals: UnlockQueue
    let examinations: ServerProbes
    let examiner: PeerInspector
    private let registry: SessionRegistry
    private let configuration: LiveConfiguration
    private let reloads: ConfigurationReloads
    private let phase: AgentPhase
    private let events: Subscriptions
    private let audit: AuditLog
    private let clocks: ClockStepDetector
    private let work: PendingWork
    private let timekeeper: any Timekeeper
    private let tasks: LoopTasks
    private let confirmations: Confirmations
    private let turns: RequesterLimiter
    private let status: StatusRequests
    private let fleetRequests: FleetRequests?
    private let late: OrphanedTokenRevocations
    private let onShutdownRequest: @Sendable () -> Void

    /// Creates the parts that serve requests, from those that serve all of the agent.
    init(
        parts: AgentParts,
        ports: AgentPorts,
        identity: AgentDescription,
        eventLoop: any EventLoop,
        onShutdownRequest: @escaping @Sendable () -> Void
    ) {
        self.onShutdownRequest = onShutdownRequest
        timekeeper = ports.timekeeper
        registry = parts.registry
        configuration = parts.configuration
        reloads = parts.reloads
        phase = parts.phase
        events = parts.events
        audit = parts.audit
        clocks = parts.clocks
        work = parts.work
        tasks = parts.tasks
        late = parts.late
        examiner = PeerInspector(
            processes: ports.processes,
            configuration: parts.configuration,
            tasks: parts.tasks
        )
        turns = RequesterLimiter(timekeeper: ports.timekeeper, eventLoop: eventLoop)
        tokens = TokenRequests(
            ports: ports,
            registry: parts.registry,
            configuration: parts.configuration,
            phase: parts.phase,
            refreshes: parts.refreshes,
            sources: parts.sources,
            erasure: parts.erasure,
            audit: parts.audit,
            log: parts.log,
            work: parts.work,
            tasks: parts.tasks,
            examiner: examiner,
            turns: turns,
            preparations: TokenReadinessWaiters(
                registry: parts.registry,
                refreshes: parts.refreshes,
                phase: parts.phase,
                clocks: parts.clocks,
                timekeeper: ports.timekeeper,
                eventLoop: eventLoop
            ),
            fleetReadQueue: FleetReadWaiters(
                registry: parts.registry,
                fleet: parts.sharing,
                timekeeper: ports.timekeeper,
                tasks: parts.tasks,
                eventLoop: eventLoop
            )
        )
        confirmations = Confirmations(
            commands: ports.commands,
            configuration: parts.configuration,
            tokens: tokens,
            audit: parts.audit,
            log: parts.log,
            tasks: parts.tasks
        )
        reports = RejectionReports(
            ports: ports,
            registry: parts.registry,
            configuration: parts.configuration,
            tokens: tokens,
            turns: turns,
            confirmations: confirmations
        )
        logouts = Logouts(
            registry: parts.registry,
            phase: parts.phase,
            revoker: parts.revoker,
            fleet: parts.sharing,
            files: parts.files,
            erasure: parts.erasure,
            audit: parts.audit,
            log: parts.log,
            chance: ports.chance,
            tasks: parts.tasks
        )
        logins = Logins(
            ports: ports,
            registry: parts.registry,
            configuration: parts.configuration,
            phase: parts.phase,
            fleet: parts.sharing,
            files: parts.files,
            erasure: parts.erasure,
            audit: parts.audit,
            log: parts.log,
            tasks: parts.tasks,
            eventLoop: eventLoop
        )
        vault = VaultRequests(
            ports: ports,
            storeThread: parts.storeThread,
            configuration: parts.configuration,
            phase: parts.phase,
            confirmations: confirmations,
            events: parts.events,
            audit: parts.audit,
            log: parts.log,
            tasks: parts.tasks,
            eventLoop: eventLoop
        )
        arrivals = UnlockQueue(eventLoop: eventLoop)
        examinations = ServerProbes(ports.diagnostics, tasks: parts.tasks)
        status = StatusRequests(
            ports: ports,
            identity: identity,
            registry: parts.registry,
            configuration: parts.configuration,
            phase: parts.phase,
            fleet: parts.sharing,
            checkup: parts.fleet.map {
                FleetCheckup(fleet: $0, registry: parts.registry, phase: parts.phase)
            },
            files: parts.files,
            tokens: tokens,
            logins: logins,
            tasks: parts.tasks
        )
        fleetRequests = parts.fleet.map {
            FleetRequests(
                fleet: $0,
                registry: parts.registry,
                configuration: parts.configuration,
                phase: parts.phase,
                timekeeper: ports.timekeeper,
                tasks: parts.tasks
            )
        }
        parts.fleet?.observer = self
    }

    // MARK: Checks

    /// Starts to inspect a peer that has connected, before anything is read from it.
    func connectionOpened(_ connection: Connection) {
        if configuration.rules.exist { examiner.lookFirst(at: connection) }
        if audit.isKept { examiner.see(connection) }
    }

    /// Checks a request in the order below, then serves it.
    ///
    /// The socket comes first: a restricted socket rejects most requests, whatever else is wrong with them.
    /// Then come the address and the method, which reveal nothing about sessions. A request waits for the
    /// store before anything is said that depends on it, and for the peer's identity before anything that
    /// depends on the peer. Only then are the sessions accessed.
    func handle(_ request: HTTPRequest, on connection: Connection) {
        let found = request.head.address.route
        let isIdentified = connection.caller.witness.takeIdentified()
        connection.caller.witness.recordClaim(request.head.claimedCaller)
        connection.caller.witness.recordListener(configuration.listener(claimed: request.head.listener))
        do throws(RequestFailure) {
            try checkSocket(connection, found, configuration)
            guard let route = found else { throw RequestFailure(nothingAt: request.head.address.path) }
            guard route.accepts(request.method) else { return refuseMethod(route, on: connection) }
            guard phase.current != .opening || works(route, connection, whileOpening: configuration) else {
                return arrivals.add(request, on: connection)
            }
            guard isIdentified || !configuration.mustIdentify(for: route) else {
                return examiner.identify(connection) { [self] in
                    handle(request, on: connection)
                }
            }
            if let name = route.session, !configuration.isListed(name, at: connection) {
                throw .unknown(name)
            }
            guard phase.isServing || route.traits.worksLocked else { throw .lockedAgent }
            if route.handingOut != nil { clocks.compare() }
            let kept = route.session.flatMap { registry[$0] }
            if phase.current == .working,
                configuration.shouldCheckForChanges(
                    request,
                    isKept: kept != nil,
                    for: connection,
                    at: timekeeper.now
                )
            {
                return look(for: connection) { [self] in
                    handle(request, on: connection)
                }
            }
            try checkKnown(route, isKept: kept != nil, connection, configuration)
            try serve(route, of: kept, request, on: connection)
        } catch {
            connection.answer(HTTPResponse(configuration.explained(error, to: connection)))
            auditHidden(error, found, connection)
        }
    }

    /// Handles a request that waited for the store.
    func handle(_ arrival: QueuedRequest) {
        handle(arrival.request, on: arrival.connection)
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
                message: "not permitted at this socket: it provides only tokens and their sessions",
                remedy: .retry("on the agent's own host")
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
    private func look(for connection: Connection, then proceed: @escaping () -> Void) {
        tasks.start {
            if await self.reloads.hasChanged() {
                // An error in the configuration is in the log, and in the responses from now on.
                _ = try? await self.reloads.reload(by: .peer(of: connection))
            }
            if connection.state == .answering { proceed() }
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
    private func auditHidden(_ failure: RequestFailure, _ route: Route?, _ connection: Connection) {
        guard failure.code == .notFound, let name = route?.handingOut else { return }
        guard connection.caller.isRestricted || registry[name] != nil else { return }
        audit.add(.hidden, name, connection)
    }
}

// MARK: Serving each route

extension RequestHandler {
    private func serve(
        _ route: Route,
        of kept: SessionEntry?,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        let query = request.head.address.query
        let name = { () throws(RequestFailure) in
            guard let name = route.session else { throw .noSuchName }
            return name
        }
        switch route.endpoint {
        case .agent: connection.answer(status.agent(for: connection))
        case .sessions: connection.answer(status.sessions(for: connection))
        case .session: connection.answer(try status.session(try name(), for: connection))
        case .token:
            guard let kept else { throw .unknown(try name()) }
            try serveToken(of: kept, request, on: connection)
        case .aws:
            guard let kept else { throw .unknown(try name()) }
            try serveRole(of: kept, request, on: connection)
        case .refresh: try serveRefresh(of: try name(), request, on: connection)
        case .report:
            let name = try name()
            if kept?.settings.hasRoleCredentials == true { throw .roleCredentials(of: name) }
            try reports.serve(request, PendingTokenRequest(connection: connection, session: name))
        case .login:
            let name = try name()
            try serveLogin(to: name, on: connection) { [self] call throws(RequestFailure) in
                try logins.serve(request, name, on: call.connection)
            }
        case .loginAnswer:
            let number = LoginNumber(rawValue: route.number ?? 0)
            connection.answer(try logins.serveAnswer(request, number, try name()))
        case .logout: try serveLogout(of: try name(), request, on: connection)
        case .clientSecret:
            let name = try name()
            try serveLogin(to: name, on: connection) { [self] call throws(RequestFailure) in
                try logins.serveClientSecret(request, name, on: call.connection)
            }
        case .events: try events.serve(query, on: connection)
        case .audit: try audit.serve(query, on: connection)
        case .metrics: connection.answer(status.metrics(for: connection))
        case .doctor: status.serveDoctor(on: connection)
        case .examine: try examinations.serve(request, on: connection)
        case .restrict: try ForwardingRestriction.serve(request, on: connection)
        case .lock: vault.serveLock(on: connection)
        case .unlock: try vault.serveUnlock(request, on: connection)
        case .reload: try serveReload(request, on: connection)
        case .shutdown: serveShutdown(on: connection)
        case .vault: vault.serveStatus(on: connection)
        case .vaultInit: try vault.serveInitialization(request, on: connection)
        case .vaultSlots: try vault.serveSlotAddition(request, on: connection)
        case .vaultSlot:
            try vault.serveSlotRemoval(Int(clamping: route.number ?? 0), request, on: connection)
        case .vaultPassphrase: try vault.servePassphraseChange(request, on: connection)
        case .vaultRekey: try vault.serveRekey(request, on: connection)
        case .fleet, .fleetJoin, .fleetLeave, .fleetRepair, .fleetRemove:
            guard let fleetRequests else {
                throw RequestFailure(
                    code: .misconfigured,
                    message: "this host is not in a fleet",
                    remedy: .see("tokenagent-fleet(7)")
                )
            }
            try fleetRequests.serve(route.endpoint, request, on: connection)
        }
    }

    private func serveToken(
        of kept: SessionEntry,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        let name = kept.session.name
        if kept.settings.hasRoleCredentials { throw .roleCredentials(of: name) }
        let query = request.head.address.query
        let format: PendingTokenRequest.Format = request.head.prefersPlainText ? .text : .json
        if query.isEmpty, !configuration.needsConfirmation(name, for: connection),
            tokens.serveStanding(kept, as: format, on: connection)
        {
            return
        }
        let wanted = query.isEmpty ? TokenQuery() : try TokenQuery(query)
        let call = try PendingTokenRequest(wanted, for: name, as: format, on: connection)
        try configuration.checkVariant(wanted.variant, call)
        try confirmations.confirmed(call, to: .token, wanted.variant, within: wanted.timeout) {
            [tokens] in tokens.serve(wanted, $0)
        }
    }

    /// Serves `GET …/aws`: the credentials of a role, in the format of the AWS SDKs.
    private func serveRole(
        of kept: SessionEntry,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        let name = kept.session.name
        let query = request.head.address.query
        let wanted = try AWSRoleQuery(query, of: name, kept.settings.policy.roles).wanted
        let call = try PendingTokenRequest(wanted, for: name, as: .role, on: connection)
        try configuration.checkVariant(wanted.variant, call)
        try confirmations.confirmed(call, to: .token, wanted.variant, within: wanted.timeout) {
            [tokens] in tokens.serve(wanted, $0)
        }
    }

    private func serveRefresh(
        of name: SessionName,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        var asked = PendingTokenRequest(connection: connection, session: name)
        if configuration[name]?.hasRoleCredentials == true { asked.format = .renewal }
        try confirmations.confirmed(asked) {
            [self] call throws(RequestFailure) in
            try reports.serveRefresh(request, call)
        }
    }

    /// Runs `serve` for a login, or a part of one such as `POST …/client-secret`, once it is confirmed.
    private func serveLogin(
        to name: SessionName,
        on connection: Connection,
        _ serve: @escaping (PendingTokenRequest) throws(RequestFailure) -> Void
    ) throws(RequestFailure) {
        let call = PendingTokenRequest(connection: connection, session: name)
        try confirmations.confirmed(call, to: .login, then: serve)
    }

    private func serveLogout(
        of name: SessionName,
        _ request: HTTPRequest,
        on connection: Connection
    ) throws(RequestFailure) {
        try confirmations.confirmed(
            PendingTokenRequest(connection: connection, session: name),
            to: .logout
        ) { [self] call throws(RequestFailure) in
            try logouts.serve(request, name, on: call.connection)
        }
    }

    /// Serves `POST /v1/reload`.
    ///
    /// With `check` it only reports what a reload would change.
    private func serveReload(_ request: HTTPRequest, on connection: Connection) throws(RequestFailure) {
        let isCheck = try ParsedRequestBody(request.body, ReloadRequestMembers.self).value(\.check) ?? false
        tasks.start {
            do throws(RequestFailure) {
                let known = self.configuration.shownNames(to: connection)
                let changes =
                    isCheck
                    ? try await self.reloads.changes()
                    : try await self.reloads.reload(by: .peer(of: connection))
                var shown = changes.limited { name in
                    guard self.configuration[name] == nil else {
                        return self.configuration.isShown(name, to: connection)
                    }
                    // A removed session had rules that are known. Those of an added session are not known
                    // yet.
                    return isCheck ? !self.configuration.rules.exist : known.contains(name)
                }
                shown.mistakes.removeAll { !self.configuration.isShown($0, to: connection) }
                var message = shown.wire
                message.sessions = Int64(self.configuration.shownNames(to: connection).count)
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
    func timeReached() {
        vault.timeReached()
        tokens.endOverdueTurns()
        late.timeReached()
    }

    /// Removes what a peer that left was waiting for.
    ///
    /// Work that it started continues for others.
    func withdraw(_ connection: Connection) {
        defer { connection.awaited = nil }
        arrivals.withdraw(connection)
        tokens.endTurn(of: connection)
        switch connection.awaited {
        case .token(let name, let waiter): tokens.withdraw(waiter, of: name)
        case .login(let number): logins.cancel(number)
        case .logout(let name): logouts.withdraw(connection, from: name)
        case .events:
            events.withdraw(connection)
            audit.withdraw(connection)
        case .confirmation(let key): confirmations.withdraw(connection, from: key)
        case .turn, .fleet, nil: break
        }
    }

    /// Fails all waiting requests as the agent locks, and lets requests in flight finish within `limit`.
    func refuseAll(_ failure: RequestFailure, within limit: TimeAmount) async {
        refuseThoseInQueues(failure)
        logins.refuseUnstored(failure)
        // Bare-token peers cannot be sent an error, so they keep waiting.
        tokens.preparations.withdrawAll()
        tokens.refuseWaiting(failure)
        logouts.refuseAll(failure)
        late.end()
        await work.drain(within: limit)
        logins.refuseAll(phase.refusal)
    }

    /// Fails all requests that wait for a session that is being removed.
    func refuseAll(_ failure: RequestFailure, about name: SessionName) {
        logins.refuseAll(failure, of: name)
        tokens.preparations.refuse(failure, for: name)
        tokens.refuseWaiting(failure, for: name)
        logouts.refuseAll(failure, of: name)
    }

    /// The number of requests that wait for the user.
    var waitingForPerson: Int { confirmations.waitingCount }

    /// The number of requests that wait for their turn at a `[[socket]]`.
    var waitingForTurn: Int { turns.waitingCount }

    /// Fails the requests that wait for the user or for their turn.
    ///
    /// No work for their tokens has started.
    private func refuseThoseInQueues(_ failure: RequestFailure) {
        confirmations.refuseAll(failure)
        for waiting in turns.takeAll() { tokens.answer(failure, to: waiting.call) }
    }

    /// Begins to stop.
    ///
    /// From now on only requests in flight are waited for.
    func beginStopping() {
        vault.close()
        arrivals.refuse(phase.refusal)
        refuseThoseInQueues(phase.refusal)
    }

    /// Fails the remaining requests once nothing is in flight any more.
    func finishStopping() async {
        logins.refuseAll(phase.refusal)
        tokens.preparations.refuse(phase.refusal)
        tokens.refuseWaiting(phase.refusal)
        events.end()
        await audit.end()
        await vault.finish()
    }
}

// MARK: The fleet

extension RequestHandler: SharedSessionNewsReceiver {
    func sharedRecordRead(of name: SessionName) { tokens.fleetReadQueue.end(of: name) }

    func logoutDelayed(_ storeError: FleetStoreError, of name: SessionName) {
        logouts.answerDelayed(storeError, of: name)
    }

    func logoutOvertaken(of name: SessionName) { logouts.answerOvertaken(of: name) }
}
