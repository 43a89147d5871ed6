// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `lock`, which wipes the agent's keys; no tokens are served until `unlock`.
struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the agent: erase its keys and serve nothing."
    )

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        try agent.endpoint.send(AgentRequest(.post, "lock"))
    }
}
