// SPDX-License-Identifier: MIT

import AgentProtocol
import StrictJSON

/// Which session is for a server.
struct SessionChoice: Equatable {
    var session: String
    /// The user its `hosts` names for that server.
    var user: String?

    /// Asks the agent; nil if no session is for the server.
    ///
    /// A session that is named is taken for any server, unless it says itself which ones it is for.
    init?(for question: HelperQuestion, _ endpoint: AgentEndpoint) throws(AgentError) {
        if let session = question.session {
            let known = try endpoint.object(AgentRequest(.get, "sessions", session))
            let rules = SessionChoice.rules(known)
            guard let host = question.host, rules.isEmpty == false else {
                self.init(session: session)
                return
            }
            guard let rule = SessionChoice.closest(rules, to: host)?.rule else { return nil }
            self.init(session: session, user: rule.user)
            return
        }
        guard let host = question.host else {
            throw AgentError(.badRequest, "no session is named", remedy: "name one with --session")
        }
        try self.init(for: host, among: try endpoint.object(AgentRequest(.get, "sessions")).sessions)
    }

    /// The session whose `hosts` name `host` most closely; nil if none does.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if two do.
    init?(for host: HostName, among sessions: [JSONObject]) throws(AgentError) {
        let candidates = sessions.compactMap { known -> (name: String, closeness: Int, rule: HostRule)? in
            guard let name = known["session"]?.string,
                let best = SessionChoice.closest(SessionChoice.rules(known), to: host)
            else { return nil }
            return (name, best.closeness, best.rule)
        }
        guard let best = candidates.max(by: { $0.closeness < $1.closeness }) else { return nil }
        let rivals = candidates.filter { $0.closeness == best.closeness }.map(\.name)
        guard rivals.count == 1 else {
            let names = rivals.joined(separator: " and ")
            throw AgentError(.misconfigured, "\(names) are both for \(host.host)", remedy: "see hosts")
        }
        self.init(session: best.name, user: best.rule.user)
    }

    init(session: String, user: String? = nil) {
        self.session = session
        self.user = user
    }

    static func rules(_ session: JSONObject) -> [HostRule] {
        session["hosts"]?.array?.compactMap(\.string).compactMap { HostRule($0) } ?? []
    }

    private static func closest(
        _ rules: [HostRule],
        to host: HostName
    ) -> (closeness: Int, rule: HostRule)? {
        rules.compactMap { rule in rule.closeness(to: host).map { ($0, rule) } }.max { $0.0 < $1.0 }
    }
}
