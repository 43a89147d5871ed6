// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The logouts in progress, and the connections that wait for them.
///
/// A logout ends the login on this host at once. Its response waits until the server has revoked the tokens,
/// or cannot.
///
/// - Entry points: ``serve(_:_:on:)``, ``revoke(_:for:)``, ``finish(_:for:)``.
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
        let origin: RequestInitiator
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
    private let registry: SessionRegistry
    private let phase: AgentPhase
    private let revoker: TokenRevoker
    private let fleet: any SessionSharing
    private let files: TokenFiles
    private let erasure: DeferredSecretErasure
    private let audit: AuditLog
    private let log: SessionLog
    private let chance: @Sendable () -> Double
    private let tasks: LoopTasks

    init(
        registry: SessionRegistry,
        phase: AgentPhase,
        revoker: TokenRevoker,
        fleet: any SessionSharing,
        files: TokenFiles,
        erasure: DeferredSecretErasure,
        audit: AuditLog,
        log: SessionLog,
        chance: @escaping @Sendable () -> Double,
        tasks: LoopTasks
    ) {
        self.registry = registry
        self.phase = phase
        self.revoker = revoker
        self.fleet = fleet
        self.files = files
        self.erasure = erasure
        self.audit = audit
        self.log = log
        self.chance = chance
        self.tasks = tasks
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
        on connection: Connection
    ) throws(RequestFailure) {
        let body = try ParsedRequestBody(request.body, LogoutRequestMembers.self)
        guard let kept = registry[name] else { throw .unknown(name) }
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
        guard !mustWait(order) else { return postpone(order, on: connection) }
        try admit(order)
        begin(order, for: connection)
    }

    // MARK: Waiting

    private func mustWait(_ order: RequestOptions) -> Bool {
        order.isLocal
            ? fleet.unpublishedChange(of: order.session) != nil
            : fleet.delaysLogout(of: order.session)
    }

    private func postpone(_ order: RequestOptions, on connection: Connection) {
        let name = order.session
        let waiting = Postponed(connection)
        connection.awaited = .logout(name)
        postponed[name, default: []].append(waiting)
        tasks.start {
            if order.isLocal {
                await self.fleet.waitUntilPublished([name])
            } else {
                await self.fleet.waitUntilLogoutAllowed(of: name)
            }
            // Otherwise the peer has been told that the agent is locked or the session is gone.
            guard let index = self.postponed[name]?.firstIndex(where: { $0 === waiting }) else { return }
            self.postponed[name]?.remove(at: index)
            do throws(RequestFailure) {
                try self.admit(order)
                self.begin(order, for: waiting.connection)
            } catch {
                waiting.connection?.awaited = nil
                waiting.connection?.answer(HTTPResponse(error))
            }
        }
    }

    /// Checks that the logout can be done as requested.
    ///
    /// - Throws: ``RequestFailure`` if it cannot.
    private func admit(_ order: RequestOptions) throws(RequestFailure) {
        guard phase.isServing else { throw phase.refusal }
        guard order.isLocal else { return try checkCanLogOutAllHosts(order) }
        guard let debt = fleet.refusalToLeave(order.session) else { return }
        fleet.cancelDeparture(order.session)
        throw debt
    }

    /// Checks that this host can log out all hosts of the fleet.
    ///
    /// - Throws: ``RequestFailure`` if it cannot. If only the fleet prevents it, this host may then have
    ///   logged out alone.
    private func checkCanLogOutAllHosts(_ order: RequestOptions) throws(RequestFailure) {
        let name = order.session
        switch fleet.admitLogout(of: name) {
        case .allowed: break
        case .refused(let failure): throw failure
        case .onlyHere(var failure):
            logOut(of: name, local: true, by: order.origin)
            failure.message = "only this host has logged out: \(failure.message)"
            throw failure
        }
    }

    // MARK: Logging out

    private func begin(_ order: RequestOptions, for connection: Connection?) {
        let name = order.session
        if let connection {
            connection.awaited = .logout(name)
            connections[name, default: []].append(connection)
        }
        if order.unregisters {
            var server = order.isLocal ? nil : registry[name]?.session.currentLogin?.server
            if let found = server, isInUse(found, besides: name) { server = nil }
            leaving.updateValue(server, forKey: name)
        }
        logOut(of: name, local: order.isLocal, by: order.origin)
    }

    private func logOut(of name: SessionName, local: Bool, by origin: RequestInitiator) {
        audit.add(.logout, .done, name, by: origin)
        if local { fleet.leave(name) }
        registry.apply(name) { session, moment in session.logoutRequested(local: local, at: moment) }
    }

    /// Returns whether a session other than `name` is logged in as the same client.
    private func isInUse(_ server: DiscoveredServer, besides name: SessionName? = nil) -> Bool {
        registry.entries.contains { other, kept in
            guard other != name, let found = kept.session.currentLogin?.server else { return false }
            return found.client?.bytewise == server.client?.bytewise
                && found.issuer.bytewise == server.issuer.bytewise
        }
    }

    /// Revokes the tokens of a login and passes the result to the session.
    func revoke(_ request: RevocationRequest, for name: SessionName) {
        // A login that replaces these tokens must not erase them before the server has revoked them.
        erasure.retain(request.secrets)
        tasks.start {
            let outcome = await self.revoker.outcome(of: request, for: name)
            self.erasure.release(request.secrets)
            let jitter = self.chance()
            self.registry.apply(name) { session, moment in
                session.revocationFinished(request, outcome, jitter: jitter, at: moment)
            }
        }
    }

    func finish(_ result: LogoutReply, for name: SessionName) {
        // The response comes after the token files, so that its reader finds them removed.
        files.whenWritten { [self] in unregister(result, for: name) }
    }

    private func unregister(_ result: LogoutReply, for name: SessionName) {
        guard let server = leaving.removeValue(forKey: name) else {
            return answer(result, for: name)
        }
        // The tokens are revoked, so the client can be removed too, unless another session has logged in with
        // it meanwhile.
        let isInUse = server.map { self.isInUse($0) } ?? false
        tasks.start {
            if let server, !isInUse { await self.revoker.authorization.unregister(name, server) }
            // A revocation that will be retried still needs the client secret.
            if result.told != .retrying { await self.revoker.authorization.forgetClientSecret(of: name) }
            self.answer(result, for: name)
        }
    }

    private func answer(_ result: LogoutReply, for name: SessionName) {
        log.logoutEnded(result, of: name)
        tell(result, of: name)
    }

    /// Tells the waiters that the other hosts and the server receive the logout later, because of `storeError`.
    func answerDelayed(_ storeError: FleetStoreError, of name: SessionName) {
        let message = "not yet in etcd, so the other hosts are still logged in: \(storeError.advice)"
        tell(.notYetRevoked(message: message), of: name)
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

    private func tell(_ result: LogoutReply, of name: SessionName) {
        guard let waiting = connections.removeValue(forKey: name) else { return }
        let policy = registry[name]?.settings.policy
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

extension LogoutReply {
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
