// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// Logouts whose server has not been told yet, and who asked for them.
///
/// Confined to the agent's event loop.
final class Logouts {
    private var connections: [SessionName: [Connection]] = [:]
    /// Sessions that leave for good, each with its registered client if nobody else uses that.
    private var leaving: [SessionName: FoundServer?] = [:]
    /// Tokens that are to end at their server without a logout.
    let late: LateRevocations

    init(late: LateRevocations) {
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
        // A reader of a fleet has nothing that the server could revoke, and ends no login of others.
        let local = try body.value(\.local) ?? false || isReader
        if !local { try admitForAll(name, by: connection, in: agent) }
        let unregisters = try body.value(\.unregister) ?? false
        connection.awaited = .logout(name)
        connections[name, default: []].append(connection)
        guard agent.fleet.isTelling(name) || local && agent.fleet.unshared(of: name) != nil else {
            return begin(kept, local: local, unregisters: unregisters, by: connection, in: agent)
        }
        Task {
            if local {
                await agent.fleet.untilPaid([name], in: agent)
            } else {
                await agent.fleet.untilTold(name)
            }
            // Whoever waited has been told that it is locked.
            guard agent.isServing else { return }
            guard let kept = agent.sessions[name] else { return refuseAll(.unknown(name), of: name) }
            if local, let debt = agent.fleet.debt(of: name) {
                refuseAll(debt, of: name)
                return agent.fleet.stay(name, in: agent)
            }
            begin(kept, local: local, unregisters: unregisters, by: connection, in: agent)
        }
    }

    /// Refuses to log out all hosts of a fleet where this one cannot.
    private func admitForAll(
        _ name: SessionName,
        by connection: Connection,
        in agent: isolated SessionAgent
    ) throws(RequestFailure) {
        guard !agent.fleet.hasLeft(name) else {
            throw RequestFailure(
                code: .misconfigured,
                message: "This host has left \(name), and logs nobody else out.",
                session: name,
                remedy: "tokenctl logout \(name) at another host, or tokenctl fleet join \(name) first"
            )
        }
        if var failure = agent.fleet.deafness(to: name) {
            if agent.fleet.debt(of: name) == nil {
                logOut(of: name, local: true, by: connection, in: agent)
                failure.message = "This host alone has logged out. \(failure.message)"
            }
            throw failure
        }
        if let blank = agent.fleet.blank(of: name) { throw RequestFailure(blank, of: name) }
    }

    private func begin(
        _ kept: KeptSession,
        local: Bool,
        unregisters: Bool,
        by connection: Connection,
        in agent: isolated SessionAgent
    ) {
        let name = kept.session.name
        if unregisters {
            var server = local ? nil : kept.session.presentLogin?.server
            if let found = server, isShared(found, by: name, in: agent) { server = nil }
            leaving.updateValue(server, forKey: name)
        }
        logOut(of: name, local: local, by: connection, in: agent)
    }

    private func logOut(
        of name: SessionName,
        local: Bool,
        by connection: Connection,
        in agent: isolated SessionAgent
    ) {
        agent.audit.add(.logout, .done, name, by: .peer(of: connection))
        if local { agent.fleet.leave(name, in: agent) }
        agent.apply(name) { session, moment in session.logoutRequested(local: local, at: moment) }
    }

    /// Whether another session is logged in as the same client.
    private func isShared(
        _ server: FoundServer,
        by name: SessionName,
        in agent: isolated SessionAgent
    ) -> Bool {
        agent.sessions.contains { other, kept in
            guard other != name, let found = kept.session.presentLogin?.server else { return false }
            return found.client?.bytewise == server.client?.bytewise
                && found.issuer.bytewise == server.issuer.bytewise
        }
    }

    /// Tells the server that the tokens of a login are not to be used any more.
    func revoke(_ request: RevocationRequest, for name: SessionName, in agent: isolated SessionAgent) {
        // A login that comes meanwhile takes the tokens from the session, and not from the server's sight.
        agent.erasure.lend(request.secrets)
        Task {
            let outcome = await agent.ports.authorization.revoke(name, request)
            agent.erasure.giveBack(request.secrets)
            let jitter = agent.ports.chance()
            agent.apply(name) { session, moment in
                session.revocationFinished(outcome, jitter: jitter, at: moment)
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
        // Its tokens are revoked: now the client may go too.
        Task {
            if let server { await agent.ports.authorization.unregister(name, server) }
            // Who has to ask the server again needs the secret for that.
            if result.told != .retrying { await agent.ports.authorization.forgetClientSecret(of: name) }
            answer(result, for: name, in: agent)
        }
    }

    private func answer(_ result: LogoutResult, for name: SessionName, in agent: isolated SessionAgent) {
        agent.journal.logoutEnded(result, of: name)
        tell(result, of: name)
    }

    /// Tells whoever waits that the other hosts and the server hear of the logout later, because of `trouble`.
    func answerDelayed(_ trouble: FleetTrouble, of name: SessionName) {
        let message = "etcd does not have the logout, and the other hosts go on: \(trouble.advice)"
        tell(.notYetRevoked(message: message), of: name)
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
        refuseAll(failure, of: name)
    }

    private func tell(_ result: LogoutResult, of name: SessionName) {
        guard let waiting = connections.removeValue(forKey: name) else { return }
        let answer = LogoutMessage {
            $0.session = name.description
            $0.state = SessionStatus.State.loggedOut.rawValue
            $0.revoked = result == .revoked
            $0.told = result.told
            $0.message = result.message
        }
        for connection in waiting {
            connection.awaited = nil
            connection.answer(.message(answer))
        }
    }

    /// The peer of `connection` left; the logout goes on.
    func withdraw(_ connection: Connection, from name: SessionName) {
        connections[name]?.removeAll { $0 === connection }
    }

    /// Answers everybody who waits, or only those who wait for one session.
    func refuseAll(_ failure: RequestFailure, of session: SessionName? = nil) {
        for (name, waiting) in connections where session == nil || name == session {
            for connection in waiting { connection.answer(Answer(failure)) }
            connections[name] = nil
        }
    }
}

extension LogoutResult {
    /// What the server was told.
    var told: LogoutTold {
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
