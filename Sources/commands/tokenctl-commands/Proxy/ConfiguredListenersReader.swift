// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The tables `[[proxy]]` and `[[endpoint]]`, read by `tokenagent`.
///
/// So no other part of the configuration gets into this process.
struct ConfiguredListenersReader {
    let endpoint: AgentEndpoint
    /// The configuration file, or `nil` for the file of the running agent, or else of this user.
    var file: String?
    /// The configuration file of the running agent, if it has been asked before.
    var agentFile: String?
    /// Whether to ask the running agent for its configuration file.
    var asksAgent = true
    /// The proxy that is served in place of the tables; the configuration need not have tables or the
    /// session.
    var proxy: AdHocProxy?
    /// The name of the only table to serve, or `nil` for all.
    var name: String?
    /// The remedy if there is no table with the name.
    var remedy: Remedy?

    /// Reads and checks the tables.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if the configuration has errors, or
    ///   `notFound` if there is no table.
    func read() throws(AgentError) -> ListenersSetupMessage {
        // Ask the agent for the session, because a forwarded agent may have the sessions of another host.
        let session = try proxy?.session(at: endpoint)
        let asked = asksAgent && file == nil ? endpoint.runningAgent?.configuration : nil
        let ofAgent = file == nil ? agentFile ?? asked : nil
        let run = try TokenagentRun(
            ["--list-listeners"] + (file.map { ["--config", $0] } ?? [])
                + (ofAgent.map { ["--agent-config", $0] } ?? [])
                + (proxy.map { ["--listener", $0.keys] } ?? [])
        )
        guard var message = run.answer.flatMap({ ListenersSetupMessage($0) }), run.status == 0 else {
            throw run.failure
        }
        if let proxy, let session { try proxy.check(session) }
        if let path = endpoint.connectIfThere()?.path {
            message.socket = path
        } else {
            message.socket = try endpoint.socketPath
        }
        if let name {
            let named = (message.listeners ?? []).filter { $0.name?.bytewise == name.bytewise }
            guard !named.isEmpty else {
                throw AgentError(
                    .notFound,
                    "no [[proxy]] or [[endpoint]] named \"\(name)\" in the configuration",
                    remedy: remedy ?? .set("--upstream to serve the session \(name) without a table")
                )
            }
            message.listeners = named
        }
        guard message.listeners?.isEmpty == false else {
            throw AgentError(
                .notFound,
                "no [[proxy]] or [[endpoint]] in the configuration",
                remedy: .see("tokenagent.conf(5)")
            )
        }
        return message
    }
}
