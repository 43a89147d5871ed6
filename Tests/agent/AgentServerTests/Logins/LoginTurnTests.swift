// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Logins to one session that come before the one before has its end.
@Suite(.timeLimit(.minutes(10)))
struct LoginTurnTests {
    @Test func `a login comes after the one that is being written to the disk`() async throws {
        let agent = try await AgentHarness()
        agent.store.disk.holdCommits()
        async let first: Void = agent.logIn(token: "token-1")
        #expect(try await Polling.until { agent.store.disk.heldCommits == 1 })
        let second = try agent.peer()
        try second.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        // It has begun to wait by then.
        _ = try await second.streamHead()
        agent.store.disk.letCommitsGo()
        try await first
        await agent.serving.nextLogIn().answer(.cancelled)
        #expect(try await second.chunk().contains("cancelled"))
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        await agent.stop()
    }

    @Test func `a login that is being written ends while the agent locks, and who waits is refused`()
        async throws
    {
        let agent = try await AgentHarness()
        agent.store.disk.holdCommits()
        let first = try agent.peer()
        try first.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        let grant = LoginGrant(
            tokens: try agent.granted("token-1"),
            renewal: .impossible,
            tokenEndpoint: "https://id.example/token"
        )
        await agent.serving.nextLogIn().answer(.granted(grant))
        #expect(try await Polling.until { agent.store.disk.heldCommits == 1 })
        let second = try agent.peer()
        try second.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        _ = try await first.streamHead()
        _ = try await second.streamHead()
        async let lock: Void = agent.runtime.agent.lock()
        let refused = try await second.chunk()
        #expect(refused.contains("\"code\":\"locked\""), "\(refused)")
        agent.store.disk.letCommitsGo()
        let last = try await first.chunk()
        #expect(last.contains("\"done\""), "\(last)")
        await lock
        await agent.stop()
    }
}
