// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    @Suite struct ShutdownTests {
        @Test(.enabled(if: Program.succeeds("command -v flock"), "flock is not installed"))
        func `the store is free for the next agent when tokenctl shutdown returns`() async throws {
            let agent = try AgentUnderTest()
            for _ in 1...3 {
                try await agent.start()
                let result = try await agent.shell(
                    "tokenctl shutdown && flock -n '\(agent.statePath)/lock' true"
                )
                #expect(result.all == (0, "", ""))
                _ = try await agent.end()
            }
        }

        @Test func `a store that tokenctl cannot see is not waited for`() async throws {
            let store = #"{"store":"/nonexistent"}"#
            let agent = try ScriptedAgent([[.read, .answer(store)], [.read, .answer("{}")]])
            let result = try await Program.run(
                [BuiltPrograms.client, "shutdown"],
                environment: ["TOKENAGENT_SOCK": agent.socket]
            )
            #expect(result.all == (0, "", ""))
            #expect(agent.requests.map { $0.prefix(8) } == ["GET /v1 ", "POST /v1"])
        }

        @Test func `without an agent it is status 3`() async throws {
            let agent = try AgentUnderTest()
            #expect(try await agent.tokenctl("shutdown").status == 3)
        }
    }
}

extension ProgramResult {
    /// Everything that came out, to compare at once.
    fileprivate var all: (status: Int32, output: String, error: String) {
        (status, standardOutput, standardError)
    }
}
