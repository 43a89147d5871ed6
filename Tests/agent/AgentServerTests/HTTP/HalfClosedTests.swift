// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// Peers that say that nothing more will come, as `nc -N` and `socat` do at the end of their input.
@Suite(.timeLimit(.minutes(10)))
struct HalfClosedTests {
    private static let token = "/v1/sessions/work/token"

    @Test func `whoever has sent all still gets the answer, and then the end`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", Self.token))
        peer.endSending()
        let all = try await peer.rest()
        #expect(all.hasPrefix("HTTP/1.1 200 ") && all.contains("token-1"))
        await agent.stop()
    }

    @Test func `an answer that has to be waited for comes too`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", Self.token))
        peer.endSending()
        let refresh = await agent.serving.nextRefresh()
        refresh.answer(.granted(try agent.granted("token-2")))
        #expect(try await peer.rest().contains("token-2"))
        await agent.stop()
    }

    @Test func `all that were sent before the end are answered, half a one is not`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        let request = SocketPeer.request("GET", "/v1")
        try peer.send(request + request + request + "GET /v1 HT")
        peer.endSending()
        let all = try await peer.rest()
        #expect(all.split(separator: "HTTP/1.1 200 OK").count == 3)
        await agent.stop()
    }

    @Test func `a stream goes on, until the peer is gone`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/events"))
        peer.endSending()
        _ = try await peer.streamHead()
        try await agent.logIn()
        #expect(try await peer.chunk().contains("logged_in"))
        peer.leave()
        #expect(try await Polling.until { await agent.runtime.agent.subscriberCount == 0 })
        await agent.stop()
    }

    @Test func `one that is gone altogether is noticed while it waits`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", Self.token))
        peer.endSending()
        let refresh = await agent.serving.nextRefresh()
        #expect(await agent.runtime.agent.waitingCalls == 1)
        peer.leave()
        #expect(try await Polling.until { await agent.runtime.agent.waitingCalls == 0 })
        refresh.answer(.granted(try agent.granted("token-2")))
        await agent.stop()
    }

    @Test(arguments: ["", "GET /v1 HT"])
    func `one that asks nothing is let go`(text: String) async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        try peer.send(text)
        peer.endSending()
        #expect(try await peer.rest() == "")
        await agent.stop()
    }
}
