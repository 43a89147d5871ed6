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
    /// The keys of a `[[proxy]]` in place of those of the configuration.
    var proxy: String?
    /// Only the table with this name.
    var name: String?

    /// The tables, checked.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` for mistakes, `notFound` if there is no table.
    func read() throws(AgentError) -> ListenersMessage {
        guard let program = AgentStarter.executable else {
            throw AgentError(.internal, "tokenagent is neither beside tokenctl nor in PATH")
        }
        var output = try Pipe()
        let messages = try Pipe()
        let child = try ChildProcess(
            program,
            ["--list-listeners"] + (file.map { ["--config", $0] } ?? [])
                + (proxy.map { ["--listener", $0] } ?? []),
            output: .descriptor(output.writing),
            error: .descriptor(messages.writing)
        )
        output.closeWriting()
        let text = output.all()
        let status = child.wait()
        let json = try? JSONValue(parsing: text, maximumValues: .max)
        guard var message = json.flatMap({ ListenersMessage($0) }), status == 0 else {
            let isMisconfigured = status == FailureCode.misconfigured.exitStatus
            throw AgentError(
                isMisconfigured ? .misconfigured : .internal,
                AgentStarter.complaint(in: messages.available())
            )
        }
        message.socket = try endpoint.socketPath
        if let name {
            let named = (message.listeners ?? []).filter { $0.name?.bytewise == name.bytewise }
            guard !named.isEmpty else {
                throw AgentError(
                    .notFound,
                    "there is no [[proxy]] or [[endpoint]] \(name) in the configuration",
                    remedy: "give --upstream to serve the session \(name) without a table"
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
