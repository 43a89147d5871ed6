// SPDX-License-Identifier: MIT

import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Requests for which a reader of a fleet looks at etcd before it refuses them.
@Suite(.timeLimit(.minutes(10)))
struct ReaderLookTests {
    @Test func `a request waits for a look no longer than it says`() async throws {
        let (agent, fleet) = try await start()
        fleet.holdLooks()
        let answer = try await agent.peer().exchange(
            "GET",
            "/v1/sessions/work/token?scope=other&timeout=1"
        )
        #expect(answer.body.contains("host is a reader"), "\(answer.body)")
        #expect(fleet.heldLooks == 1)
        fleet.letLooksGo()
        await agent.stop()
    }

    @Test func `a request that waits for a look is told at once that the agent locks`() async throws {
        let (agent, fleet) = try await start()
        fleet.holdLooks()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?scope=other&timeout=400"))
        #expect(try await Polling.until { fleet.heldLooks == 1 })
        async let lock: Void = agent.runtime.agent.lock()
        let answer = try await peer.answer()
        #expect(answer.body.contains("\"code\":\"locked\""), "\(answer.body)")
        fleet.letLooksGo()
        await lock
        await agent.stop()
    }

    /// A reader that has taken over a keeper's login.
    private func start() async throws -> (AgentHarness, FleetDouble) {
        let memory = try SealedMemory()
        let fleet = FleetDouble(memory: memory, role: .reader)
        fleet.write(login: 5, generation: 0, token: "token-1")
        let agent = try await AgentHarness.sharing(fleet.port, memory: memory)
        let hasToken = try await Polling.until {
            try await agent.peer().exchange("GET", "/v1/sessions/work/token").status == 200
        }
        #expect(hasToken)
        return (agent, fleet)
    }
}
