// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// The contents of the log at its default level, and what it never contains.
@Suite(.timeLimit(.minutes(10)))
struct SessionLogTests {
    @Test func `logins, refreshes and logouts are a line each, with the reason`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(600), account: "alice@example.com")
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/refresh"))
        await agent.serving.nextRefresh().answer(
            .granted(try agent.granted("token-2", lifetime: .seconds(600)))
        )
        #expect(try await peer.answer().status == 200)
        await agent.advance(by: .seconds(590))
        await agent.serving.nextRefresh().answer(
            .granted(try agent.granted("token-3", lifetime: .seconds(600)))
        )
        _ = try await Polling.until { agent.observed.names.filter { $0 == .refreshed }.count == 2 }
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/logout", body: "{}"))
        await agent.serving.nextRevocation().answer(.revoked)
        #expect(try await peer.answer().status == 200)
        #expect(
            agent.log.shown == [
                "notice logged in session=work",
                "notice refreshed expires_in=600 reason=person session=work",
                "notice refreshed expires_in=600 reason=due session=work",
                "notice logged out session=work",
            ]
        )
        #expect(!agent.log.lines.contains { $0.contains("alice") })
        await agent.stop()
    }

    @Test func `a failed refresh says class, code and next try, and the server's words only at debug`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(600))
        await agent.advance(by: .seconds(590))
        let words = "id.example answered 503: alice, see https://id.example/?user=alice"
        let failure = RefreshFailure(
            kind: .busy,
            code: "temporarily_unavailable",
            message: words,
            retryAfter: .seconds(20)
        )
        await agent.serving.nextRefresh().answer(.failed(failure))
        let line =
            "warning refresh failed class=busy code=temporarily_unavailable next_try=20 reason=due session=work"
        // The line is written after the event, when the time of the next try is known.
        _ = try await Polling.until { agent.log.shown.last == line }
        #expect(agent.log.shown.last == line)
        #expect(!agent.log.shown.contains { $0.contains("alice") })
        #expect(agent.log.lines.contains { $0.hasPrefix("debug ") && $0.contains(words) })
        await agent.stop()
    }

    @Test(arguments: ["<script>alert(1)</script>", "", "a b", String(repeating: "e", count: 65)])
    func `a code that is no word of a protocol is not in the log`(code: String) async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(600))
        await agent.advance(by: .seconds(590))
        let failure = RefreshFailure(kind: .sessionOver, code: code, message: "over")
        await agent.serving.nextRefresh().answer(.failed(failure))
        _ = try await Polling.until { agent.log.shown.contains { $0.contains("refresh failed") } }
        #expect(
            agent.log.shown.suffix(2) == [
                "warning login required reason=grant_dead session=work",
                "warning refresh failed class=session_over next_try=none reason=due session=work",
            ]
        )
        await agent.stop()
    }

    @Test func `a login that fails and one that is given up are a line each`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        let failure = RefreshFailure(
            kind: .interactionRequired,
            code: "access_denied",
            message: "alice said no"
        )
        await agent.serving.nextLogIn().answer(.failed(failure))
        _ = try await peer.streamHead()
        _ = try await peer.chunk()
        let other = try agent.peer()
        try other.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        _ = await agent.serving.nextLogIn()
        _ = try await other.streamHead()
        await agent.runtime.agent.lock()
        #expect(
            agent.log.shown == [
                "warning login failed class=interaction_required code=access_denied session=work",
                "notice login cancelled session=work",
                "notice locked",
            ]
        )
        await agent.stop()
    }

    @Test func `locking and unlocking are a line each, a wrong guess too`() async throws {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        _ = try await peer.exchange("POST", "/v1/lock")
        _ = try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"gu3ss"}"#)
        await agent.advance(by: .milliseconds(100))
        _ = try await peer.exchange("POST", "/v1/unlock", body: #"{"passphrase":"open sesame"}"#)
        let shown = agent.log.shown
        #expect(shown.count == 3)
        #expect(shown.first == "notice locked" && shown.last == "notice unlocked")
        #expect(shown.dropFirst().first?.hasPrefix("warning unlock failed reason=") == true)
        #expect(!agent.log.lines.contains { $0.contains("sesame") || $0.contains("gu3ss") })
        await agent.stop()
    }

    @Test func `metrics and status tell the reason`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(600))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/refresh"))
        await agent.serving.nextRefresh().answer(
            .granted(try agent.granted("token-2", lifetime: .seconds(600)))
        )
        _ = try await peer.answer()
        await agent.advance(by: .seconds(590))
        await agent.serving.nextRefresh().answer(.failed(RefreshFailure(kind: .busy, message: "no")))
        _ = try await Polling.until { agent.observed.names.contains(.refreshFailed) }
        let metrics = try await peer.exchange("GET", "/v1/metrics").body
        #expect(
            metrics.contains(
                "tokenagent_refreshes_total{session=\"work\",result=\"ok\",reason=\"person\"} 1\n"
            )
        )
        #expect(
            metrics.contains(
                "tokenagent_refreshes_total{session=\"work\",result=\"failed\",reason=\"due\"} 1\n"
            )
        )
        let body = try await peer.exchange("GET", "/v1/sessions/work").body
        let status = try #require(try JSONValue(parsing: body.utf8).object)
        #expect(status["last_refresh_reason"]?.string == "person")
        #expect(status["last_error"]?.object?["refresh_reason"]?.string == "due")
        await agent.stop()
    }
}
