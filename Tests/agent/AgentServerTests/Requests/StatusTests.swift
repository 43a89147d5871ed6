// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// The status of a session.
@Suite(.timeLimit(.minutes(10)))
struct StatusTests {
    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    @Test func `status shows what is known and no more`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let list = try json(await agent.peer().exchange("GET", "/v1/sessions"))
        let sessions = (list["sessions"]?.array ?? []).compactMap(\.object)
        #expect(sessions.map { $0["session"]?.string } == ["home", "work"])
        #expect(sessions[0]["state"]?.string == "logged_out" && sessions[0]["expires_at"] == nil)
        #expect(sessions[1]["state"]?.string == "ready" && sessions[1]["expires_in"]?.integer == 3600)
        #expect(sessions[1]["next_refresh_in"]?.integer ?? 0 > 3000)
        #expect(sessions[1]["issuer"]?.string == "https://id.example")
        await agent.stop()
    }

    @Test(.holds("113")) func `status tells how far the server's clock is off`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        let cases: [(Duration?, Int64?)] = [(.seconds(59), nil), (.seconds(-600), -600), (nil, -600)]
        for (ahead, told) in cases {
            try peer.send(SocketPeer.request("POST", "/v1/sessions/work/refresh"))
            var tokens = try agent.granted("token-\(told ?? 0)")
            tokens.serverClockAhead = ahead
            await agent.serving.nextRefresh().answer(.granted(tokens))
            _ = try await peer.answer()
            let status = try json(await agent.peer().exchange("GET", "/v1/sessions/work"))
            #expect(status["server_clock_ahead"]?.integer == told)
            #expect(status["expires_in"]?.integer == 3600)
        }
        await agent.stop()
    }

    /// Cases expires-in-zero and token-type-own-word.
    @Test func `status tells what a token response had of its own`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/refresh"))
        var tokens = try agent.granted("token-2", lifetime: nil)
        tokens.serverTokenType = "bot"
        tokens.remarks = [GrantWarning(.lifetimeIgnored, "a lifetime of 0 s")]
        await agent.serving.nextRefresh().answer(.granted(tokens))
        _ = try await peer.answer()
        let status = try json(await agent.peer().exchange("GET", "/v1/sessions/work"))
        #expect(status["state"]?.string == "ready" && status["server_token_type"]?.string == "bot")
        let notes = (status["notes"]?.array ?? []).compactMap(\.object)
        #expect(notes.map { $0["code"]?.string } == ["lifetime_ignored"])
        let served = try await peer.exchange("GET", "/v1/sessions/work/token")
        #expect(served.status == 200 && served.body.contains("token-2"))
        #expect(try json(served)["token_type"]?.string == "Bearer")
        await agent.stop()
    }
}
