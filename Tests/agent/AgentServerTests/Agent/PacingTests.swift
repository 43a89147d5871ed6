// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Many sessions of one issuer that are due together.
@Suite(.timeLimit(.minutes(10)))
struct PacingTests {
    private func herd(_ count: Int) async throws -> AgentHarness {
        let agent = try await AgentHarness()
        agent.configuration.change { configuration in
            for index in 0..<count {
                guard let name = SessionName("s\(index)") else { continue }
                configuration.sessions[name] = configuration.sessions[AgentHarness.work]
            }
        }
        _ = try await agent.peer().exchange("POST", "/v1/reload")
        for index in 0..<count {
            try await agent.logIn(try #require(SessionName("s\(index)")), token: "t\(index)")
        }
        await agent.advance(by: .seconds(3_300))
        return agent
    }

    @Test(.holds("108")) func `four requests at a time reach the issuer, the demanded one first`()
        async throws
    {
        let agent = try await herd(8)
        var running = [await agent.serving.nextRefresh()]
        for _ in 1..<4 { running.append(await agent.serving.nextRefresh()) }
        #expect(agent.serving.refreshCount == 4)
        let asked = Set(running.map(\.session))
        let last = try #require((0..<8).compactMap { SessionName("s\($0)") }.last { !asked.contains($0) })
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/\(last)/token?min_valid=1000"))
        #expect(try await Polling.until { try await agent.waiters(last.description) == 1 })
        running[0].answer(.granted(try agent.granted("new")))
        let next = await agent.serving.nextRefresh()
        #expect(next.session == last)
        next.answer(.granted(try agent.granted("wanted")))
        #expect(try await peer.answer().body.contains("wanted"))
        for call in running.dropFirst() { call.answer(.granted(try agent.granted("new"))) }
        agent.stopSoon()
    }

    @Test func `a wish of the issuer to be left alone holds for all its sessions`() async throws {
        let agent = try await herd(5)
        var running = [await agent.serving.nextRefresh()]
        for _ in 1..<4 { running.append(await agent.serving.nextRefresh()) }
        let busy = RefreshFailure(kind: .busy, message: "429", retryAfter: .seconds(120))
        for call in running { call.answer(.failed(busy)) }
        #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
        // The one that was not asked for yet says so too.
        let asked = Set(running.map(\.session))
        let fifth = try #require((0..<5).compactMap { SessionName("s\($0)") }.first { !asked.contains($0) })
        #expect(try await Polling.until { try await agent.state(of: fifth) == "retrying" })
        await agent.advance(by: .seconds(119))
        #expect(agent.serving.refreshCount == 4)
        await agent.advance(by: .seconds(1))
        let next = await agent.serving.nextRefresh()
        // One finds out for all whether the issuer is back.
        #expect(agent.serving.refreshCount == 5)
        next.answer(.granted(try agent.granted("new")))
        agent.stopSoon()
    }

    @Test func `who asks while the issuer wants to be left alone is told for how long`() async throws {
        let agent = try await herd(2)
        let running = [await agent.serving.nextRefresh(), await agent.serving.nextRefresh()]
        let busy = RefreshFailure(kind: .busy, message: "503", retryAfter: .seconds(77))
        for call in running { call.answer(.failed(busy)) }
        #expect(try await Polling.until { await agent.runtime.agent.admittedAttempts == 0 })
        for _ in 0..<2 {
            let answer = try await agent.peer().exchange("POST", "/v1/sessions/s0/refresh", body: "{}")
            #expect(answer.status == 503)
            let error = try JSONValue(parsing: answer.body.utf8).object?["error"]?.object
            #expect((70...90).contains(error?["retry_after"]?.integer ?? 0), "\(answer.body)")
            #expect(try await agent.state(of: running[0].session) == "retrying")
        }
        #expect(agent.serving.refreshCount == 2)
        // Until then the tokens that are there are served.
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/s0/token").status == 200)
        agent.stopSoon()
    }

    @Test func `a session logged out while it is held back sends nothing`() async throws {
        let agent = try await herd(5)
        var running = [await agent.serving.nextRefresh()]
        for _ in 1..<4 { running.append(await agent.serving.nextRefresh()) }
        let asked = Set(running.map(\.session))
        let held = try #require((0..<5).compactMap { SessionName("s\($0)") }.first { !asked.contains($0) })
        let body = #"{"local":true}"#
        _ = try await agent.peer().exchange("POST", "/v1/sessions/\(held)/logout", body: body)
        for call in running { call.answer(.granted(try agent.granted("new"))) }
        #expect(try await Polling.until { await agent.runtime.agent.heldAttempts == 0 })
        #expect(agent.serving.refreshCount == 4)
        #expect(agent.store.disk.impossibleCalls.isEmpty)
        await agent.stop()
    }
}

extension AgentHarness {
    /// The session's state as its status says.
    fileprivate func state(of name: SessionName) async throws -> String? {
        let body = try await peer().exchange("GET", "/v1/sessions/\(name)").body
        return try JSONValue(parsing: body.utf8).object?["state"]?.string
    }
}
