// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

@Suite struct RefreshCoordinatorTests {
    /// On a slow disk the room for other answers must not keep an answer that is here from becoming durable.
    @Test func `an answer waits for one reservation at most`() async throws {
        let names = try ["a", "b", "c", "d"].map { try #require(SessionName($0)) }
        let agent = try await AgentHarness(configure: { configuration, _ in
            let settings = configuration.sessions[AgentHarness.work]
            for name in names { configuration.sessions[name] = settings }
        })
        for name in names { try await agent.logIn(name) }
        let peers = try names.map { _ in try agent.peer() }
        try peers[0].send(SocketPeer.request("POST", "/v1/sessions/a/refresh", body: "{}"))
        let refresh = await agent.serving.nextRefresh()
        agent.store.disk.holdReservations()
        for (name, peer) in zip(names, peers).dropFirst() {
            try peer.send(SocketPeer.request("POST", "/v1/sessions/\(name)/refresh", body: "{}"))
        }
        #expect(try await Polling.until { await agent.runtime.agent.storeJobs == 1 })
        refresh.answer(.granted(try agent.granted("token-2")))
        #expect(try await Polling.until { await agent.runtime.agent.storeJobs == 2 })
        agent.store.disk.letReservationsGo(1)
        #expect(try await peers[0].answer().body.contains("token-2"))
        agent.store.disk.letReservationsGo(2)
        for _ in names.dropFirst() {
            await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3")))
        }
        for peer in peers.dropFirst() { #expect(try await peer.answer().status == 200) }
        #expect(agent.store.disk.impossibleCalls.isEmpty)
        await agent.stop()
    }
}
