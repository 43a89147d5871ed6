// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// Ends the agent.
struct ShutdownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shutdown",
        abstract: "End the agent after the refreshes in flight."
    )

    @OptionGroup var agent: AgentOptions

    func run() throws {
        var endpoint = agent.endpoint
        endpoint.mayStartAgent = false
        _ = try endpoint.object(AgentRequest(.post, "shutdown"))
    }
}
