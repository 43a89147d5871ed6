// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Rules of sessions that name a `[[proxy]]` or `[[endpoint]]`.
@Suite(.timeLimit(.minutes(10)))
struct ListenerRuleTests {
    private static func agent(isProxy: Bool) async throws -> AgentHarness {
        let processes = ScriptedProcesses()
        processes.next(
            PeerIdentity(programs: [], unit: nil, startedAt: .seconds(1), image: "?", isProxy: isProxy)
        )
        return try await AgentHarness.configured(processes: processes) { configuration, _ in
            configuration.sessions[AgentHarness.work]?.rules = [AllowRule(listener: "api")]
            configuration.listeners = ["api": "d1", "other": "d2"]
        }
    }

    @Test(
        arguments: [
            (true, "api d1", 200), (true, "api d2", 404), (true, "other d2", 404), (true, "api", 404),
            (true, "api d1 x", 404),
            (true, nil, 404), (false, "api d1", 404),
        ] as [(Bool, String?, Int)]
    )
    func `a session is shown to the program that serves the very table`(
        isProxy: Bool,
        claim: String?,
        status: Int
    ) async throws {
        let agent = try await Self.agent(isProxy: isProxy)
        let peer = try agent.peer()
        let field = claim.map { "Tokenagent-Listener: \($0)\r\n" } ?? ""
        #expect(try await peer.exchange("GET", "/v1/sessions/work", fields: field).status == status)
        await agent.stop()
    }
}
