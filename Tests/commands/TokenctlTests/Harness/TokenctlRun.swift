// SPDX-License-Identifier: MIT

import TestSupport

/// Runs the built `tokenctl` against a scripted agent.
struct TokenctlRun {
    let agent: ScriptedAgent

    init(_ steps: ScriptedAgent.Step...) throws {
        agent = try ScriptedAgent([steps])
    }

    init(connections: [[ScriptedAgent.Step]]) throws {
        agent = try ScriptedAgent(connections)
    }

    init(responding respond: @escaping @Sendable (String) -> ScriptedAgent.Step) throws {
        agent = try ScriptedAgent(responding: respond)
    }

    /// An answer with the error `code`.
    static func failure(_ code: String, _ status: Int) -> ScriptedAgent.Step {
        .answer("{\"error\":{\"code\":\"\(code)\",\"message\":\"m\"}}", status: status)
    }

    /// Runs it with exactly these variables beside the socket.
    func callAsFunction(
        _ arguments: String...,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ProgramResult {
        try await run(arguments, input: input, environment: environment)
    }

    func run(
        _ arguments: [String],
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ProgramResult {
        let base = ["TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0", "HOME": "/nonexistent"]
        return try await Program.run(
            [BuiltPrograms.client] + arguments,
            environment: base.merging(environment) { $1 },
            input: input
        )
    }
}

extension ProgramResult {
    /// Everything that came out, to compare at once.
    var all: (status: Int32, output: String, error: String) { (status, standardOutput, standardError) }
}
