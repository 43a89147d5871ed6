// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The session selected for a server.
struct SessionChoice: Equatable {
    /// A session whose `hosts` match a server.
    private struct Candidate {
        var name: String
        var closeness: Int
        var rule: HostRule
        /// Whether the host follows from the session's resource.
        var isDerived: Bool
    }

    var session: String
    /// The user name in the session's `hosts` for that server.
    var user: String?

    /// Selects the session for a request, or returns `nil` if there is none or tokens could be read on the
    /// way.
    ///
    /// A session named in the request is only for the servers in its own `hosts`. Without `hosts` it is for
    /// no server that the program names, unless the user allows that with `isForAnyHost`.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if the session requires `hosts` and has none,
    ///   or `badRequest` if the request names neither a session nor a server.
    init?(
        for question: CredentialRequest,
        isForAnyHost: Bool,
        _ endpoint: AgentEndpoint
    ) throws(AgentError) {
        if let server = question.server, !server.isPrivate { return nil }
        guard let session = question.session else {
            guard let server = question.server else {
                throw AgentError(.badRequest, "missing session name", remedy: .set("--session"))
            }
            try self.init(for: server.place, among: try endpoint.sessions())
            return
        }
        let rules = try endpoint.hostRules(of: session)
        guard let server = question.server else {
            self.init(session: session)
            return
        }
        guard !rules.isEmpty else {
            guard isForAnyHost else { throw SessionChoice.noHosts(session, server) }
            self.init(session: session)
            return
        }
        guard let rule = SessionChoice.closest(rules, to: server.place)?.rule else { return nil }
        self.init(session: session, user: rule.user)
    }

    private static func noHosts(_ session: String, _ server: ServerAddress) -> AgentError {
        AgentError(
            .misconfigured,
            "cannot be used for \(server.place.host): hosts is not set",
            session: session,
            remedy: ConfigurationRemedy.change(.set("hosts in [session.\(session)]"))
        )
    }

    /// Selects the session whose `hosts` match `host` most closely, or returns `nil` if none does.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if two sessions match equally well.
    init?(for host: HostAndPort, among sessions: [SessionMessage]) throws(AgentError) {
        let candidates = sessions.compactMap { known -> Candidate? in
            guard let name = known.session,
                let best = SessionChoice.closest(SessionChoice.rules(known), to: host)
            else { return nil }
            let isDerived = known.hasHostsOfResource == true
            return Candidate(name: name, closeness: best.closeness, rule: best.rule, isDerived: isDerived)
        }
        let closest = candidates.map(\.closeness).max()
        var rivals = candidates.filter { $0.closeness == closest }
        // Configured hosts count more than the server of a resource.
        if rivals.contains(where: { !$0.isDerived }) { rivals.removeAll(where: \.isDerived) }
        guard let best = rivals.first else { return nil }
        guard rivals.count == 1 else {
            let names = rivals.map(\.name).joined(separator: " and ")
            let port = host.port.map { ":\($0)" } ?? ""
            throw AgentError(
                .misconfigured,
                "hosts of \(names) both match \(host.host)\(port)",
                remedy: ConfigurationRemedy.change(.set("hosts so that only one session matches"))
            )
        }
        self.init(session: best.name, user: best.rule.user)
    }

    init(session: String, user: String? = nil) {
        self.session = session
        self.user = user
    }

    static func rules(_ session: SessionMessage) -> [HostRule] {
        session.hosts?.compactMap { HostRule($0) } ?? []
    }

    static func closest(_ rules: [HostRule], to host: HostAndPort) -> (closeness: Int, rule: HostRule)? {
        rules.compactMap { rule in rule.closeness(to: host).map { ($0, rule) } }.max { $0.0 < $1.0 }
    }
}

extension AgentEndpoint {
    /// Returns the servers in the `hosts` of a session, or an empty array.
    func hostRules(of session: String) throws(AgentError) -> [HostRule] {
        do {
            return SessionChoice.rules(try message(AgentRequest(.get, "sessions", session)))
        } catch {
            throw error.about(session)
        }
    }
}
