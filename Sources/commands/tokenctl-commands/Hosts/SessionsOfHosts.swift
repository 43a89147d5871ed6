// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The servers in the `hosts` of all sessions, without patterns.
struct SessionsOfHosts {
    /// A server and the session for it.
    struct HostAndSession {
        var session: String
        /// The host, with the port if `hosts` names one, such as `git.example.com:8443`.
        var host: String
        var user: String?
        /// Whether the host follows from the session's resource.
        var isDerived = false
    }

    let entries: [HostAndSession]

    init(_ sessions: [SessionMessage]) {
        let all = sessions.flatMap { known in
            SessionChoice.rules(known).filter { !$0.coversSubdomains }.compactMap { rule in
                known.session.map { session in
                    let port = rule.port.map { ":\($0)" } ?? ""
                    return HostAndSession(
                        session: session,
                        host: rule.host + port,
                        user: rule.user,
                        isDerived: known.hasHostsOfResource == true
                    )
                }
            }
        }
        // As in SessionChoice, configured hosts count more than the server of a resource.
        let configured = Set(all.filter { !$0.isDerived }.map(\.host))
        entries = all.filter { !$0.isDerived || !configured.contains($0.host) }
    }
}
