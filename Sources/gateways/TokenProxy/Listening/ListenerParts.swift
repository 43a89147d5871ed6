// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore

/// The parts that serve the requests of one listener, created from its table.
///
/// Unchecked: confined to the event loop.
final class ListenerParts: @unchecked Sendable {
    let table: ListenerDefinition
    let coordinator: CredentialProvider
    let agent: AgentConnectionPool
    /// The connections to the upstream, or `nil` for an endpoint.
    let pool: UpstreamPool?
    let report: ProxyTelemetry

    init(
        _ table: ListenerDefinition,
        agent: AgentConnectionPool,
        watch: EventWatch,
        report: ProxyTelemetry
    ) throws(AgentError) {
        self.table = table
        self.agent = agent
        self.report = report
        coordinator = CredentialProvider(table, agent: agent, watch: watch)
        guard case .proxy(let rules) = table.service else {
            pool = nil
            return
        }
        let tls = try rules.upstream.isTLS ? UpstreamTLS(rules) : nil
        pool = UpstreamPool(rules.upstream, tls, try UpstreamTLS.tunnel(rules), loop: agent.loop)
    }

    var name: String { table.name }

    /// The host and port of the upstream.
    var place: String {
        guard case .proxy(let rules) = table.service else { return "" }
        return String(rules.upstream.authority)
    }
}
