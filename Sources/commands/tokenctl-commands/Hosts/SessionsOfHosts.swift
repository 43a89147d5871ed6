// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The servers in the `hosts` of all sessions, without patterns.
struct SessionsOfHosts {
    /// A server and the session for it.
    struct Entry {
        var session: String
        /// The host, with the port if `hosts` names one, such as `git.example.com:8443`.
        var host: String
        var user: String?
    }

    let entries: [Entry]

    init(_ sessions: [SessionMessage]) {
        let all = sessions.flatMap { known in
            SessionChoice.rules(known).filter { !$0.coversSubdomains }.compactMap { rule in
                known.session.map { session in
                    let port = rule.port.map { ":\($0)" } ?? ""
                    let isDerived = known.hasHostsOfResource == true
                    return (Entry(session: session, host: rule.host + port, user: rule.user), isDerived)
                }
            }
        }
        // What the user has written in hosts counts more than the server of a resource.
        let written = Set(all.filter { !$0.1 }.map(\.0.host))
        entries = all.filter { !$0.1 || !written.contains($0.0.host) }.map(\.0)
    }
}
