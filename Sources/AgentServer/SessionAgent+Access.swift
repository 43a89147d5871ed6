// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc
import NIOCore
import TokenCore

/// Who may see what: restricted sockets, and the rules of sessions.
extension SessionAgent {
    /// What a restricted socket refuses, before anything else about the request is looked at.
    func checkSocket(_ connection: Connection, _ route: Route?) throws(RequestFailure) {
        guard let path = connection.restrictedPath else { return }
        let message = "This socket gives out tokens and nothing else."
        guard let socket = configuration.sockets.first(where: { $0.path == path }) else {
            throw RequestFailure(code: .denied, message: message)
        }
        switch route {
        case .agent: return
        case .token(let name):
            guard socket.sessions.contains(name) else {
                audit(.hidden, name, connection)
                throw unknown(name)
            }
        case .sessions, .session, .refresh, .report, .login, .loginAnswer, .logout, .events, .metrics,
            .doctor,
            .audit, .lock, .unlock, .reload, .shutdown, .vault, .vaultInit, .vaultSlots, .vaultSlot,
            .vaultPassphrase, .vaultRekey, nil:
            throw RequestFailure(code: .denied, message: message)
        }
    }

    /// Whether the answer depends on who asks, and that is not known yet.
    func mustIdentify(_ connection: Connection, for route: Route) -> Bool {
        guard rules.exist, connection.digested != rules.digested else { return false }
        guard let name = route.session else { return route.showsSessions }
        return sessions[name]?.settings.rules.isEmpty == false
    }

    /// Finds out who is at the other end, then goes on if the peer still waits.
    func identify(_ connection: Connection, then proceed: @escaping @Sendable (isolated SessionAgent) -> Void)
    {
        let process = PeerProcess(of: connection)
        let digested = rules.digested
        Task {
            let found = try? await ports.processes?.examine(connection.peer.processID, digesting: digested)
            connection.facts = found.flatMap { process.isStill($0) ? $0 : nil }
            connection.digested = digested
            process.close()
            if connection.state == .answering { proceed(self) }
        }
    }

    func admission(of connection: Connection, to name: SessionName) -> PeerAdmission {
        guard rules.exist, let settings = configuration.sessions[name] else { return .allowed }
        return settings.rules.admission(of: connection.facts)
    }

    /// Whether there is such a session for the peer; known also while none is loaded.
    func isConfigured(_ name: SessionName, for connection: Connection) -> Bool {
        configuration.sessions[name] != nil && isShown(name, to: connection)
    }

    /// The sessions a peer may know of, in the order of their names.
    func visibleSessions(to connection: Connection) -> [KeptSession] {
        let shown = sessions.filter { name, _ in isShown(name, to: connection) }
        return shown.sorted { $0.key < $1.key }.map(\.value)
    }

    func isShown(_ name: SessionName, to connection: Connection) -> Bool {
        if let path = connection.restrictedPath {
            let socket = configuration.sockets.first { $0.path == path }
            guard socket?.sessions.contains(name) == true else { return false }
        }
        return admission(of: connection, to: name) != .hidden
    }
}

/// What of the rules in force matters to every request.
struct RulesInForce {
    /// Some session has rules.
    let exist: Bool
    /// Programs whose digests rules name.
    let digested: Set<String>

    init(_ configuration: AgentConfiguration) {
        let rules = configuration.sessions.values.lazy.map(\.rules)
        exist = rules.contains { !$0.isEmpty }
        digested = Set(rules.joined().filter { $0.digest != nil }.compactMap(\.executable))
    }
}

extension Route {
    /// The one session it is about.
    var session: SessionName? {
        switch self {
        case .session(let name), .token(let name), .refresh(let name), .report(let name), .login(let name),
            .loginAnswer(let name, _), .logout(let name):
            name
        case .agent, .sessions, .events, .metrics, .doctor, .audit, .lock, .unlock, .reload, .shutdown,
            .vault,
            .vaultInit, .vaultSlots, .vaultSlot, .vaultPassphrase, .vaultRekey:
            nil
        }
    }

    /// The answer tells which sessions there are, or how many.
    fileprivate var showsSessions: Bool {
        switch self {
        case .agent, .sessions, .events, .metrics, .doctor, .audit, .reload: true
        case .session, .token, .refresh, .report, .login, .loginAnswer, .logout, .lock, .unlock, .shutdown,
            .vault,
            .vaultInit, .vaultSlots, .vaultSlot, .vaultPassphrase, .vaultRekey:
            false
        }
    }
}
