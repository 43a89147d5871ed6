// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// Logouts whose server has not been told yet, and who asked for them.
///
/// Confined to the agent's event loop.
final class Logouts {
    /// What a peer asks for.
    private struct Order {
        let session: SessionName
        /// This host alone, and no server is told.
        let isLocal: Bool
        /// The client goes too that the server registered for the session.
        let unregisters: Bool
        let origin: AuditRecord.Origin
    }

    /// A logout that may not begin yet.
    private final class Postponed {
        /// `nil`: the peer has left, and the logout goes on.
        var connection: Connection?

        init(_ connection: Connection) { self.connection = connection }
    }

    private var connections: [SessionName: [Connection]] = [:]
    private var postponed: [SessionName: [Postponed]] = [:]
    /// Sessions that leave for good, each with its registered client if nobody else uses that.
    private var leaving: [SessionName: DiscoveredServer?] = [:]
    /// Tokens that are to end at their server without a logout.
    let late: OrphanedTokenRevocations

    init(late: OrphanedTokenRevocations) {
        self.late = late
    }

    /// Serves `POST …/logout`: the login is gone here at once; the answer waits until the server has been
    /// told or cannot be.
    func serve(
        _ request: HTTPRequest,
        _ name: SessionName,
        on connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let body = try RequestBody(request.body, LogoutMembers.self)
        guard let kept = agent.sessions[name] else { throw .unknown(name) }
        let isReader = kept.settings.policy.isReader
        let meansAllHosts = try body.value(\.allHosts) ?? false
        guard !meansAllHosts || !isReader else {
            throw RequestFailure(
                code: .misconfigured,
                message: "This host is a reader of its fleet, and logs out of \(name) for itself alone.",
                session: name,
                remedy: "tokenctl logout \(name) --all-hosts at a host with role = \"keeper\""
            )
        }
        let order = Order(
            session: name,
            // A reader of a fleet has nothing that the server could revoke, and ends no login of others.
            isLocal: try body.value(\.local) ?? false || isReader,
            unregisters: try body.value(\.unregister) ?? false,
            origin: .peer(of: connection)
        )
        guard !mustWait(order, in: agent) else { return postpone(order, on: connection, in: agent) }
        try admit(order, in: agent)
        begin(order, for: connection, in: agent)
    }

    // MARK: Waiting

    private func mustWait(_ order: Order, in agent: isolated SessionAgent) -> Bool {
        order.isLocal
            ? UnpublishedChange.unshared(of: order.session, in: agent) != nil
            : FleetLoginGate(session: order.session).delaysLogout(in: agent)
    }

    private func postpone(_ order: Order, on connection: Connection, in agent: isolated SessionAgent) {
        let name = order.session
        let waiting = Postponed(connection)
        connection.awaited = .logout(name)
        postponed[name, default: []].append(waiting)
        Task {
            if order.isLocal {
                await agent.fleet.waitUntilPublished([name], in: agent)
            } else {
                await FleetLoginGate(session: name).waitUntilLogoutAllowed(in: agent)
            }
            // Else the peer has been told that the agent is locked, or the session gone.
            guard let index = postponed[name]?.firstIndex(where: { $0 === waiting }) else { return }
            postponed[name]?.remove(at: index)
            do throws(RequestFailure) {
                try admit(order, in: agent)
                begin(order, for: waiting.connection, in: agent)
            } catch {
                waiting.connection?.awaited = nil
                waiting.connection?.answer(HTTPResponse(error))
            }
        }
    }

    /// Refuses what cannot be done, or would not be what was asked for.
    private func admit(_ order: Order, in agent: isolated SessionAgent) throws(RequestFailure) {
        guard agent.isServing else { throw agent.stopping }
        guard order.isLocal else { return try checkCanLogOutAllHosts(order, in: agent) }
        guard let debt = UnpublishedChange.refusal(of: order.session, in: agent) else { return }
        agent.fleet.cancelDeparture(order.session, in: agent)
        throw debt
    }

    /// Refuses to log out all hosts of a fleet where this one cannot.
    private func checkCanLogOutAllHosts(
        _ order: Order,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let name = order.session
        guard !agent.fleet.hasLeft(name) else {
            throw RequestFailure(
                code: .misconfigured,
                message: "This host has left \(name), and logs nobody else out.",
                session: name,
                remedy: "tokenctl logout \(name) at another host, or tokenctl fleet join \(name) first"
            )
        }
        if var failure = FleetLoginGate(session: name).obstacle(in: agent) {
            if UnpublishedChange.refusal(of: name, in: agent) == nil {
                logOut(of: name, local: true, by: order.origin, in: agent)
                failure.message = "This host alone has logged out. \(failure.message)"
            }
            throw failure
        }
        if let blank = agent.fleet.blank(of: name) { throw RequestFailure(blank, of: name) }
        if let ignorance = FleetLoginGate(session: name).ignorance(in: agent) { throw ignorance }
    }

    // MARK: Logging out

    private func begin(_ order: Order, for connection: Connection?, in agent: isolated SessionAgent) {
        let name = order.session
        if let connection {
            connection.awaited = .logout(name)
            connections[name, default: []].append(connection)
        }
        if order.unregisters {
            var server = order.isLocal ? nil : agent.sessions[name]?.session.currentLogin?.server
            if let found = server, isInUse(found, besides: name, in: agent) { server = nil }
            leaving.updateValue(server, forKey: name)
        }
        logOut(of: name, local: order.isLocal, by: order.origin, in: agent)
    }

    private func logOut(
        of name: SessionName,
        local: Bool,
        by origin: AuditRecord.Origin,
        in agent: isolated SessionAgent
    ) {
        agent.audit.add(.logout, .done, name, by: origin)
        if local { agent.fleet.leave(name, in: agent) }
        agent.apply(name) { session, moment in session.logoutRequested(local: local, at: moment) }
    }

    /// Whether a session, another one than `name`, is logged in as the same client.
    private func isInUse(
        _ server: DiscoveredServer,
        besides name: SessionName? = nil,
        in agent: isolated SessionAgent
    ) -> Bool {
        agent.sessions.contains { other, kept in
            guard other != name, let found = kept.session.currentLogin?.server else { return false }
            return found.client?.bytewise == server.client?.bytewise
                && found.issuer.bytewise == server.issuer.bytewise
        }
    }

    /// Asks the server to revoke, unless the settings have another server by now that was not there at the login.
    func outcome(
        of request: RevocationRequest,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) async -> RevocationOutcome {
        let present = agent.configuration[name]?.policy.madeOf
        if let refusal = LoginSettings.refusal(of: request, under: present) { return .refused(refusal) }
        return await agent.ports.authorization.revoke(name, request)
    }

    /// Tells the server that the tokens of a login are not to be used any more.
    func revoke(_ request: RevocationRequest, for name: SessionName, in agent: isolated SessionAgent) {
        // A login that comes meanwhile takes the tokens from the session, and not from the server's sight.
        agent.erasure.lend(request.secrets)
        Task {
            let outcome = await outcome(of: request, for: name, in: agent)
            agent.erasure.giveBack(request.secrets)
            let jitter = agent.ports.chance()
            agent.apply(name) { session, moment in
                session.revocationFinished(request, outcome, jitter: jitter, at: moment)
            }
        }
    }

    func finish(_ result: LogoutResult, for name: SessionName, in agent: isolated SessionAgent) {
        // Whoever is told of it finds no token file any more.
        agent.configuration.files.whenWritten { [self] in unregister(result, for: name, in: agent) }
    }

    private func unregister(
        _ result: LogoutResult,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) {
        guard let server = leaving.removeValue(forKey: name) else {
            return answer(result, for: name, in: agent)
        }
        // Its tokens are revoked: now the client may go too, unless somebody has logged in with it meanwhile.
        let isInUse = server.map { self.isInUse($0, in: agent) } ?? false
        Task {
            if let server, !isInUse { await agent.ports.authorization.unregister(name, server) }
            // Who has to ask the server again needs the secret for that.
            if result.told != .retrying { await agent.ports.authorization.forgetClientSecret(of: name) }
            answer(result, for: name, in: agent)
        }
    }

    private func answer(_ result: LogoutResult, for name: SessionName, in agent: isolated SessionAgent) {
        agent.journal.logoutEnded(result, of: name)
        tell(result, of: name, in: agent)
    }

    /// Tells whoever waits that the other hosts and the server hear of the logout later, because of `trouble`.
    func answerDelayed(_ trouble: FleetStoreError, of name: SessionName, in agent: isolated SessionAgent) {
        let message = "etcd does not have the logout, and the other hosts go on: \(trouble.advice)"
        tell(.notYetRevoked(message: message), of: name, in: agent)
    }

    /// Tells whoever waits that somebody has logged in meanwhile: only the login before has ended.
    func answerOvertaken(of name: SessionName) {
        let message =
            "Another login to \(name) came before etcd had the logout, and goes on; "
            + "the tokens of the one before are being revoked."
        let failure = RequestFailure(
            code: .denied,
            message: message,
            session: name,
            remedy: "tokenctl logout \(name), to end that login too"
        )
        // The client that was to go is that of the login that goes on.
        leaving.removeValue(forKey: name)
        refuse(connections.removeValue(forKey: name) ?? [], failure)
    }

    private func tell(_ result: LogoutResult, of name: SessionName, in agent: isolated SessionAgent) {
        guard let waiting = connections.removeValue(forKey: name) else { return }
        let policy = agent.sessions[name]?.settings.policy
        let isPartial = result == .revoked && policy?.isShared == true && policy?.revokes == nil
        let answer = LogoutMessage {
            $0.session = name.description
            $0.state = SessionStatus.State.loggedOut.rawValue
            $0.revoked = result == .revoked
            $0.told = result.told
            $0.message = isPartial ? Logouts.replacedLoginsLeft : result.message
        }
        for connection in waiting {
            connection.awaited = nil
            connection.answer(.message(answer))
        }
    }

    private static let replacedLoginsLeft =
        "logins that were replaced before may still be valid at the server: revokes in tokenagent.conf(5)"

    /// The peer of `connection` left; the logout goes on.
    func withdraw(_ connection: Connection, from name: SessionName) {
        connections[name]?.removeAll { $0 === connection }
        for waiting in postponed[name] ?? [] where waiting.connection === connection {
            waiting.connection = nil
        }
    }

    /// Answers everybody who waits, or only those who wait for one session.
    func refuseAll(_ failure: RequestFailure, of session: SessionName? = nil) {
        for name in Set(connections.keys).union(postponed.keys) where session == nil || name == session {
            let waiting = postponed.removeValue(forKey: name)?.compactMap(\.connection) ?? []
            refuse((connections.removeValue(forKey: name) ?? []) + waiting, failure)
        }
    }

    private func refuse(_ connections: [Connection], _ failure: RequestFailure) {
        for connection in connections {
            connection.awaited = nil
            connection.answer(HTTPResponse(failure))
        }
    }
}

extension LogoutResult {
    /// What the server was told.
    var told: RevocationStatus {
        switch self {
        case .revoked: .revoked
        case .nothingToRevoke: .nothing
        case .local: .local
        case .unsupported: .unsupported
        case .refused: .refused
        case .notYetRevoked: .retrying
        }
    }

    /// Why the tokens may still work at the server.
    fileprivate var message: String? {
        switch self {
        case .revoked, .nothingToRevoke, .local: nil
        case .unsupported(let message), .refused(let message), .notYetRevoked(let message): message
        }
    }
}
