// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

@Suite struct RestTests {
    @Test(arguments: [
        ([(3, 0), (3, 0), (3, 0), (4, 0), (4, 0)], [false, true, false, false, true]),
        ([(0, 1), (0, 1), (0, 0), (0, 0)], [false, false, true, false]),
        ([(0, 0), (1, 1), (1, 0), (1, 0)], [true, false, true, false]),
    ])
    func `a rest begins when nothing began between two looks and nothing is under way`(
        looks: [(jobs: Int, underWay: Int)],
        expected: [Bool]
    ) {
        let rest = IdleDetector {}
        #expect(looks.map { rest.begins(jobs: $0.jobs, isWorking: $0.underWay > 0) } == expected)
    }

    @Test func `an agent rests after its start and again after a login, and a get disturbs nothing`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        await agent.runtime.housekeep()
        #expect(agent.rests.value == 0)
        await agent.runtime.housekeep()
        #expect(agent.rests.value == 1)
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        await agent.runtime.housekeep()
        await agent.runtime.housekeep()
        #expect(agent.rests.value == 1)
        try await agent.logIn()
        await agent.runtime.housekeep()
        await agent.runtime.housekeep()
        #expect(agent.rests.value == 2)
        await agent.stop()
    }

    @Test func `what disturbs a rest without being work is followed by another, and nothing else is`()
        async throws
    {
        let agent = try await AgentHarness()
        await agent.runtime.agent.disturbRest()
        #expect(agent.rests.value == 0)
        for _ in 0..<2 { await agent.runtime.housekeep() }
        #expect(agent.rests.value == 1)
        await agent.runtime.agent.disturbRest()
        #expect(agent.rests.value == 2)
        await agent.stop()
    }

    @Test(arguments: [(200, false), (300, true)])
    func `an agent rests again when a crowd of connections has gone`(count: Int, isCrowd: Bool) async throws {
        let agent = try await AgentHarness()
        for _ in 0..<2 { await agent.runtime.housekeep() }
        #expect(agent.rests.value == 1)
        var peers: [SocketPeer] = []
        for _ in 0..<count { peers.append(try agent.peer()) }
        for peer in peers { #expect(try await peer.exchange("GET", "/v1").status == 200) }
        peers = []
        // The agent sees them leave before it answers this.
        #expect(try await agent.peer().exchange("GET", "/v1").status == 200)
        for _ in 0..<3 { await agent.runtime.housekeep() }
        #expect(agent.rests.value == (isCrowd ? 2 : 1))
        await agent.stop()
    }
}

extension SessionAgent {
    /// Does what disturbs a rest without being work.
    fileprivate func disturbRest() { parts.idle.again() }
}
