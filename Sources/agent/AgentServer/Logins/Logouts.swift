// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The logouts in progress, and the connections that wait for them.
///
/// A logout ends the login on this host at once. Its response waits until the server has revoked the tokens,
/// or cannot.
///
/// - Entry points: ``serve(_:_:on:in:)``, ``revoke(_:for:in:)``, ``finish(_:for:in:)``.
///
/// Confined to the agent's event loop.
final class Logouts {
    /// The options of a logout request.
    private struct RequestOptions {
        let session: SessionName
        /// Whether only this host logs out, without revoking tokens at the server.
        let isLocal: Bool
        /// Whether the client that the server registered for the session is removed too.
        let unregisters: Bool
        let origin: AuditRecord.Initiator
    }

    /// A logout that waits until it may begin.
    private final class Postponed {
        /// The peer's connection, or `nil` if the peer has left; the logout continues anyway.
        var connection: Connection?

        init(_ connection: Connection) { self.connection = connection }
    }

    private var connections: [SessionName: [Connection]] = [:]
    private var postponed: [SessionName: [Postponed]] = [:]
    /// The sessions that are being removed, each with its registered client if no other session uses it.
    private var leaving: [SessionName: DiscoveredServer?] = [:]
    /// The revocations of tokens without a logout.
    let late: OrphanedTokenRevocations

    init(late: OrphanedTokenRevocations) {
        self.late = late
    }

    /// Serves `POST …/logout`.
    ///
    /// The login ends on this host at once. The response waits until the server has revoked the tokens, or
    /// cannot.
    ///
    /// - Throws: ``RequestFailure`` if the logout cannot begin.
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
                message: "this host is a reader of the fleet and can log out only itself",
                session: name,
                remedy: .retry("at a host with role = \"keeper\"")
            )
        }
        let order = RequestOptions(
            session: name,
            // A reader of a fleet has no refresh token that the server could revoke, and must not end other
            // hosts' logins.
            isLocal: try body.value(\.local) ?? false || isReader,
            unregisters: try body.value(\.unregister) ?? false,
            origin: .peer(of: connection)
        )
        guard !mustWait(order, in: agent) else { return postpone(order, on: connection, in: agent) }
        try admit(order, in: agent)
        begin(order, for: connection, in: agent)
    }

    // MARK: Waiting

    private func mustWait(_ order: RequestOptions, in agent: isolated SessionAgent) -> Bool {
        order.isLocal
            ? UnpublishedChange.unpublishedChange(of: order.session, in: agent) != nil
            : FleetLoginPreconditions(session: order.session).delaysLogout(in: agent)
    }

    private func postpone(_ order: RequestOptions, on connection: Connection, in agent: isolated SessionAgent)
    {
        let name = order.session
        let waiting = Postponed(connection)
        connection.awaited = .logout(name)
        postponed[name, default: []].append(waiting)
        Task {
            if order.isLocal {
                await agent.fleet.waitUntilPublished([name], in: agent)
            } else {
                await FleetLoginPreconditions(session: name).waitUntilLogoutAllowed(in: agent)
            }
            // Otherwise the peer has been told that the agent is locked or the session is gone.
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

    /// Checks that the logout can be done as requested.
    ///
    /// - Throws: ``RequestFailure`` if it cannot.
    private func admit(_ order: RequestOptions, in agent: isolated SessionAgent) throws(RequestFailure) {
        guard agent.isServing else { throw agent.stopping }
        guard order.isLocal else { return try checkCanLogOutAllHosts(order, in: agent) }
        guard let debt = UnpublishedChange.refusal(of: order.session, in: agent) else { return }
        agent.fleet.cancelDeparture(order.session, in: agent)
        throw debt
    }

    /// Checks that this host can log out all hosts of the fleet.
    ///
    /// - Throws: ``RequestFailure`` if it cannot. If only the fleet prevents it, this host may then have
    ///   logged out alone.
    private func checkCanLogOutAllHosts(
        _ order: RequestOptions,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        let name = order.session
        guard !agent.fleet.hasLeft(name) else {
            throw RequestFailure(
                code: .misconfigured,
                message: "this host has left the fleet and can log out only itself",
                session: name,
                remedy: .run("tokenctl fleet join \(name) && tokenctl logout \(name)")
            )
        }
        if var failure = FleetLoginPreconditions(session: name).blockingFailure(in: agent) {
            if UnpublishedChange.refusal(of: name, in: agent) == nil {
                logOut(of: name, local: true, by: order.origin, in: agent)
                failure.message = "only this host has logged out: \(failure.message)"
            }
            throw failure
        }
        if let blank = agent.fleet.blank(of: name) { throw RequestFailure(blank, of: name) }
        if let ignorance = FleetLoginPreconditions(session: name).ignorance(in: agent) { throw ignorance }
    }

    // MARK: Logging out

    private func begin(_ order: RequestOptions, for connection: Connection?, in agent: isolated SessionAgent)
    {
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
        by origin: AuditRecord.Initiator,
        in agent: isolated SessionAgent
    ) {
        agent.audit.add(.logout, .done, name, by: origin)
        if local { agent.fleet.leave(name, in: agent) }
        agent.apply(name) { session, moment in session.logoutRequested(local: local, at: moment) }
    }

    /// Returns whether a session other than `name` is logged in as the same client.
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

    /// Revokes tokens at the server, unless the revocation address was configured after the login and belongs
    /// to another server.
    func outcome(
        of request: RevocationRequest,
        for name: SessionName,
        in agent: isolated SessionAgent
    ) async -> RevocationOutcome {
        let present = agent.configuration[name]?.policy.madeOf
        if let refusal = LoginSettingsFingerprint.refusal(of: request, under: present) {
            return .refused(refusal)
        }
        return await agent.ports.authorization.revoke(name, request)
    }

    /// Revokes the tokens of a login and passes the result to the session.
    func revoke(_ request: RevocationRequest, for name: SessionName, in agent: isolated SessionAgent) {
        // A login that replaces these tokens must not erase them before the server has revoked them.
        agent.erasure.retain(request.secrets)
        Task {
            let outcome = await outcome(of: request, for: name, in: agent)
            agent.erasure.release(request.secrets)
            let jitter = agent.ports.chance()
            agent.apply(name) { session, moment in
                session.revocationFinished(request, outcome, jitter: jitter, at: moment)
            }
        }
    }

    func finish(_ result: LogoutResult, for name: SessionName, in agent: isolated SessionAgent) {
        // The response comes after the token files, so that its reader finds them removed.
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
        // The tokens are revoked, so the client can be removed too, unless another session has logged in with
        // it meanwhile.
        let isInUse = server.map { self.isInUse($0, in: agent) } ?? false
        Task {
            if let server, !isInUse { await agent.ports.authorization.unregister(name, server) }
            // A revocation that will be retried still needs the client secret.
            if result.told != .retrying { await agent.ports.authorization.forgetClientSecret(of: name) }
            answer(result, for: name, in: agent)
        }
    }

    private func answer(_ result: LogoutResult, for name: SessionName, in agent: isolated SessionAgent) {
        agent.journal.logoutEnded(result, of: name)
        tell(result, of: name, in: agent)
    }

    /// Tells the waiters that the other hosts and the server receive the logout later, because of `storeError`.
    func answerDelayed(_ storeError: FleetStoreError, of name: SessionName, in agent: isolated SessionAgent) {
        let message = "not yet in etcd, so the other hosts are still logged in: \(storeError.advice)"
        tell(.notYetRevoked(message: message), of: name, in: agent)
    }

    /// Tells the waiters that another login happened meanwhile, and that only the previous login has ended.
    func answerOvertaken(of name: SessionName) {
        let failure = RequestFailure(
            code: .denied,
            message: "another login came first and stays active; the previous tokens are being revoked",
            session: name,
            remedy: .run("tokenctl logout \(name)")
        )
        // The client to remove belongs to the login that continues.
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
        "earlier, replaced logins may still be valid at the server "
        + Remedy.see("revokes in tokenagent.conf(5)").parenthesized

    /// Removes the waiter of `connection`, whose peer closed it; the logout continues.
    func withdraw(_ connection: Connection, from name: SessionName) {
        connections[name]?.removeAll { $0 === connection }
        for waiting in postponed[name] ?? [] where waiting.connection === connection {
            waiting.connection = nil
        }
    }

    /// Fails all waiters, or only those of one session.
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
    /// The status of the revocation at the server.
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

    /// The reason the tokens may still work at the server, or `nil`.
    fileprivate var message: String? {
        switch self {
        case .revoked, .nothingToRevoke, .local: nil
        case .unsupported(let message), .refused(let message), .notYetRevoked(let message): message
        }
    }
}
