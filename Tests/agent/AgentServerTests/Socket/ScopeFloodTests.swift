// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// A program that asks for many tokens of other scopes, beside programs that ask for little.
@Suite(.timeLimit(.minutes(5)))
struct ScopeFloodTests {
    /// Tokens of a server that replaces the refresh token each time, so that nobody knows whether the others are still good.
    private func rotated(_ agent: AgentHarness, _ token: String) throws -> RefreshOutcome {
        var granted = try agent.granted(token)
        granted.refreshToken = try agent.seal("refresh-\(token)", as: .refreshToken)
        return .granted(granted)
    }

    private func flood(_ agent: AgentHarness, _ count: Int) async throws -> [SocketPeer] {
        let peers = try (0..<count).map { number in
            let peer = try agent.peer()
            try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?scope=x\(number)"))
            return peer
        }
        #expect(try await Polling.until { await agent.runtime.agent.turnsAwaited == count - 1 })
        return peers
    }

    /// Case scope-flood.
    @Test(.holds("89")) func `a plain get is answered before any waiting request for another scope`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peers = try await flood(agent, 200)
        let first = await agent.serving.nextRefresh()
        // What is good is served while others wait.
        let plain = try agent.peer()
        #expect(try await plain.exchange("GET", "/v1/sessions/work/token").body.contains("token-1"))
        first.answer(try rotated(agent, "of-first"))
        let second = await agent.serving.nextRefresh()
        #expect(second.request.variant != .primary)
        try plain.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        #expect(try await Polling.until { try await agent.waiters("work") == 2 })
        second.answer(try rotated(agent, "of-second"))
        let third = await agent.serving.nextRefresh()
        #expect(third.request.variant == .primary)
        third.answer(try rotated(agent, "token-2"))
        #expect(try await plain.answer().body.contains("token-2"))
        #expect(agent.serving.refreshCount <= 4)
        Attachment.record("200 scopes asked for, the plain get was the next request", named: "figure")
        _ = peers.count
        agent.stopSoon()
    }

    @Test(.holds("89"), .enabled(if: Program.succeeds("command -v curl"), "curl is not here"))
    func `another program's scope is next, whatever waits for the first program`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peers = try await flood(agent, 50)
        let first = await agent.serving.nextRefresh()
        let other = try Program(
            [
                "curl", "-s", "--unix-socket", agent.path,
                "http://tokenagent/v1/sessions/work/token?scope=other",
            ],
            environment: ["PATH": TestEnvironment.searchPath]
        )
        #expect(try await Polling.until { try await agent.waiters("work") == 2 })
        first.answer(try rotated(agent, "of-first"))
        let second = await agent.serving.nextRefresh()
        #expect(second.request.variant.scopes == ["other"])
        second.answer(try rotated(agent, "of-other"))
        let result = try await other.finish()
        #expect(result.standardOutput.contains("of-other"), "\(result)")
        _ = peers.count
        agent.stopSoon()
    }

    @Test func `who leaves makes room, and the others come in turn`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peers = try await flood(agent, 4)
        let first = await agent.serving.nextRefresh()
        let waiting = peers.indices.filter { first.request.variant.scopes != ["x\($0)"] }
        peers[waiting[0]].leave()
        #expect(try await Polling.until { await agent.runtime.agent.turnsAwaited == 2 })
        first.answer(.granted(try agent.granted("of-first")))
        for index in waiting.dropFirst() {
            let refresh = await agent.serving.nextRefresh()
            let scope = try #require(refresh.request.variant.scopes.first)
            #expect(scope != "x\(waiting[0])")
            refresh.answer(.granted(try agent.granted("of-\(scope)")))
            _ = index
        }
        for index in waiting.dropFirst() {
            #expect(try await peers[index].answer().body.contains("of-x\(index)"))
        }
        #expect(agent.serving.refreshCount == 3)
        await agent.stop()
    }
}
