// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc
import NIOCore
import TokenCore

/// Who may see what: restricted sockets, and the rules of sessions.
extension SessionAgent {
    /// Whether there is the session that `route` is about, as far as the peer may know.
    ///
    /// The one place that decides it, before anything else of the request is looked at: nothing about the answer, nor
    /// the time it takes, tells a session that the rules hide from one that does not exist.
    func checkKnown(_ route: Route, _ connection: Connection) throws(RequestFailure) {
        guard let name = route.session, sessions[name] == nil || !isShown(name, to: connection) else {
            return
        }
        throw unknown(name)
    }

    /// Whether the socket is for the session that `route` is about; said also while the agent is locked.
    func checkListed(_ route: Route, _ connection: Connection) throws(RequestFailure) {
        guard let name = route.session, let socket = restriction(of: connection),
            !socket.sessions.contains(name)
        else { return }
        throw unknown(name)
    }

    /// Writes down that a token was asked for which the peer may not know of.
    func auditHidden(_ failure: RequestFailure, _ route: Route?, _ connection: Connection) {
        guard failure.code == .notFound, case .token(let name) = route else { return }
        guard connection.restrictedPath != nil || sessions[name] != nil else { return }
        audit(.hidden, name, connection)
    }

    /// Whether the answer depends on who asks.
    func mustIdentify(for route: Route) -> Bool {
        guard rules.exist else { return false }
        guard let name = route.session else { return route.traits.showsSessions }
        // For a name that nothing has the same is done as for one that is hidden.
        return configuration.sessions[name]?.rules.isEmpty != true
    }

    /// Begins to find out what a peer is that has just come; nobody waits for it.
    func lookFirst(at connection: Connection) {
        guard rules.exist else { return }
        connection.witness.begin { firstLook(at: connection) }
    }

    private func firstLook(at connection: Connection) -> Task<PeerFacts?, Never> {
        let process = connection.peer.processID
        return Task { try? await ports.processes?.examine(process, digesting: []) }
    }

    /// Finds out who is at the other end, then goes on if the peer still waits.
    func identify(_ connection: Connection, then proceed: @escaping @Sendable (isolated SessionAgent) -> Void)
    {
        Task {
            await look(at: connection)
            guard connection.state == .answering else { return }
            connection.witness.beginRequest()
            proceed(self)
        }
    }

    /// Settles what is known of the peer now.
    func look(at connection: Connection) async {
        let first = await connection.witness.begin { firstLook(at: connection) }.value
        let process = PeerProcess(of: connection)
        defer { process.close() }
        var digested: Set<String>
        var found: PeerFacts?
        repeat {
            digested = rules.digested
            found = try? await ports.processes?.examine(connection.peer.processID, digesting: digested)
        } while digested != rules.digested
        connection.witness.settle(first, found.flatMap { process.isStill($0) ? $0 : nil })
    }

    /// Whether what was allowed when `call` was made is allowed still, as the peer is known by now.
    func isStillAdmitted(_ call: TokenCall) -> Bool {
        guard isShown(call.session, to: call.connection) else { return false }
        guard admission(of: call.connection, to: call.session) == .askingFirst else { return true }
        guard case .given(let asked) = call.consent else { return false }
        guard let asked, let facts = call.connection.witness.facts else {
            return asked == nil && call.connection.witness.facts == nil
        }
        return asked.isSameProgram(as: facts)
    }

    /// Looks at the peer again before it gets what it has waited for.
    func lookAgain(
        at call: TokenCall,
        then proceed: @escaping @Sendable (isolated SessionAgent, TokenCall) -> Void,
        finally: @escaping @Sendable (isolated SessionAgent) -> Void = { _ in }
    ) {
        inFlight += 1
        Task {
            await look(at: call.connection)
            inFlight -= 1
            defer {
                finally(self)
                noteProgress()
            }
            guard call.connection.state == .answering else { return }
            guard isServing else { return answer(stopping, to: call) }
            guard isStillAdmitted(call) else {
                answer(unknown(call.session), to: call)
                return audit(.hidden, call.session, call.connection, isIDToken: call.wantsIDToken)
            }
            proceed(self, call)
        }
    }

    func admission(of connection: Connection, to name: SessionName) -> PeerAdmission {
        guard rules.exist, let settings = configuration.sessions[name] else { return .allowed }
        return settings.rules.admission(of: connection.witness.facts)
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
        if connection.restrictedPath != nil {
            guard restriction(of: connection)?.sessions.contains(name) == true else { return false }
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
