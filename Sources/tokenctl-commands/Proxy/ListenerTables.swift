// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// Has the agent's program read the tables `[[proxy]]` and `[[endpoint]]`, so that nothing else of the configuration
/// comes into this process.
struct ListenerTables {
    let endpoint: AgentEndpoint
    /// Nil: the file of this user.
    var file: String?
    /// What is served in place of the tables of the configuration, which may have none, nor the session.
    var proxy: AdHocProxy?
    /// Only the table with this name.
    var name: String?
    /// What else `name` may be meant for.
    var remedy: String?

    /// The tables, checked.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` for mistakes, `notFound` if there is no table.
    func read() throws(AgentError) -> ListenersMessage {
        // The agent knows the session, which may be one of another host.
        let session = try proxy?.session(at: endpoint)
        let run = try AgentProgramRun(
            ["--list-listeners"] + (file.map { ["--config", $0] } ?? [])
                + (proxy.map { ["--listener", $0.keys] } ?? [])
        )
        guard var message = run.answer.flatMap({ ListenersMessage($0) }), run.status == 0 else {
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
                    "there is no [[proxy]] or [[endpoint]] \(name) in the configuration",
                    remedy: remedy ?? "give --upstream to serve the session \(name) without a table"
                )
            }
            message.listeners = named
        }
        guard message.listeners?.isEmpty == false else {
            throw AgentError(
                .notFound,
                "the configuration has no [[proxy]] and no [[endpoint]]",
                remedy: "write one, see tokenagent.conf(5), or give a session and --upstream"
            )
        }
        return message
    }
}
