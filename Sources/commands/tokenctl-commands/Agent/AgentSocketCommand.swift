// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `agent-socket`, which prints the socket path for programs that use the protocol themselves.
struct AgentSocketCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent-socket",
        abstract: "Print the path of the agent's socket.",
        discussion: """
            For programs that send HTTP requests to the agent, see tokenagent-protocol(7). Starts an agent if none \
            is running.
            """
    )

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let path = try agent.endpoint.connect().path
        guard agent.wantsJSON else { return try StandardOutput.line(path) }
        try StandardOutput.json(["socket": .string(path)])
    }
}
