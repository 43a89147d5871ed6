// SPDX-License-Identifier: MIT

import TestSupport

/// Somebody who has never configured anything: no directory, no agent, a browser.
struct NewUser {
    let agent: AgentUnderTest
    private let environment: [String: String]

    init() throws {
        agent = try AgentUnderTest()
        File.removeTree(agent.home.path("config"))
        environment = agent.environment.merging(["TOKENAGENT_AUTOSTART": "1"]) { $1 }
    }

    /// Runs `tokenctl`, which starts an agent if there is none.
    func tokenctl(_ arguments: String..., input: String = "") async throws -> ProgramResult {
        try await agent.tokenctl(arguments, input: input, extraEnvironment: environment)
    }

    /// Starts `tokenctl` at a terminal.
    func atTerminal(_ arguments: String...) throws -> ProgramAtTerminal {
        try ProgramAtTerminal([BuiltPrograms.client] + arguments, environment: environment)
    }
}
