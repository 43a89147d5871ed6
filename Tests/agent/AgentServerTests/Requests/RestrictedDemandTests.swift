// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Requests of the peers of a `[[socket]]` for tokens with other scopes, and for refreshes by reports.
@Suite(.timeLimit(.minutes(10)))
struct RestrictedDemandTests {
    @Test(
        .holds("21"),
        arguments: [
            ("scope=mail", "scopes", false), ("scope=mail&audience=a", "scopes", false),
            ("scope=read", "", true),
            ("audience=https://api.example", "", true), ("scope=read&audience=https://api.example", "", true),
            ("scope=read+mail", "scopes", false), ("audience=https://API.example", "audiences", false),
            ("scope=", "", true), ("kind=access", "", true),
        ]
    )
    func `other scopes and audiences are those its table names`(
        query: String,
        key: String,
        isGiven: Bool
    ) async throws {
        let agent = try await RestrictedSocketTests.agent(
            scopes: ["read"],
            audiences: ["https://api.example"]
        )
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?timeout=30&\(query)"))
        if isGiven {
            if query.contains("read") || query.contains("audience") {
                await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
            }
            #expect(try await peer.answer().status == 200)
        } else {
            let answer = try await peer.answer()
            #expect(answer.status == 403)
            let error = try JSONValue(parsing: answer.body.utf8).object?["error"]?.object
            #expect(error?["code"] == "denied")
            #expect(error?["remedy"]?.string?.contains(" \(key) ") == true)
            // The restrictions do not apply to the owner's programs.
            let own = try agent.peer()
            try own.send(SocketPeer.request("GET", "/v1/sessions/work/token?\(query)"))
            await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
            #expect(try await own.answer().status == 200)
        }
        await agent.stop()
    }

    @Test func `nothing but the plain token is given out by default`() async throws {
        let agent = try await RestrictedSocketTests.agent()
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        for number in 0..<150 {
            let answer = try await peer.exchange("GET", "/v1/sessions/work/token?audience=a\(number)")
            #expect(answer.status == 403)
        }
        #expect(agent.serving.refreshCount == 0)
        await agent.stop()
    }

    @Test(.holds("21")) func `one token is made for it at a time, and what the owner wants comes first`()
        async throws
    {
        let names = (0..<150).map { ByteText("a\($0)") }
        let agent = try await RestrictedSocketTests.agent(audiences: Set(names))
        // The login's token is older than the tokens requested from here on.
        agent.time.advance(by: .seconds(1))
        let peers = try names.map { name in
            let peer = try SocketPeer(RestrictedSocketTests.path(agent))
            try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?audience=\(name.text)"))
            return peer
        }
        let first = await agent.serving.nextRefresh()
        let firstAudience = try #require(first.request.variant.audience)
        #expect(firstAudience.hasPrefix("a"))
        let own = try agent.peer()
        try own.send(SocketPeer.request("POST", "/v1/sessions/work/refresh", body: "{}"))
        #expect(try await Polling.until { try await agent.waiters("work") == 2 })
        first.answer(.granted(try agent.granted("of-\(firstAudience)")))
        let second = await agent.serving.nextRefresh()
        #expect(second.request.variant == .primary)
        second.answer(.granted(try agent.granted("token-2")))
        #expect(try await own.answer().body.contains("token-2"))
        // The other requests follow one after the other.
        let third = await agent.serving.nextRefresh()
        let thirdAudience = try #require(third.request.variant.audience)
        #expect(agent.serving.refreshCount == 3)
        third.answer(.granted(try agent.granted("of-\(thirdAudience)")))
        _ = await agent.serving.nextRefresh()
        // Existing tokens are served meanwhile.
        let again = try await SocketPeer(RestrictedSocketTests.path(agent)).exchange(
            "GET",
            "/v1/sessions/work/token?audience=\(firstAudience)"
        )
        #expect(again.body.contains("of-\(firstAudience)"))
        Attachment.record(
            "150 audiences asked for, the owner's refresh was the next request",
            named: "figure"
        )
        _ = peers.count
        agent.stopSoon()
    }

    @Test func `whose turn does not come in time is told so, and who leaves keeps nobody`() async throws {
        let agent = try await RestrictedSocketTests.agent(audiences: ["a", "b", "c"])
        let path = RestrictedSocketTests.path(agent)
        func ask(_ audience: String) throws -> SocketPeer {
            let peer = try SocketPeer(path)
            try peer.send(
                SocketPeer.request("GET", "/v1/sessions/work/token?audience=\(audience)&timeout=20")
            )
            return peer
        }
        let first = try ask("a")
        let refresh = await agent.serving.nextRefresh()
        let (second, third) = (try ask("b"), try ask("c"))
        #expect(try await Polling.until { await agent.runtime.agent.turnsAwaited == 2 })
        second.leave()
        #expect(try await Polling.until { await agent.runtime.agent.turnsAwaited == 1 })
        await agent.advance(by: .seconds(20))
        let late = try await third.answer()
        #expect(late.status == 503 && late.head.contains("Retry-After"))
        #expect(try await first.answer().status == 503)
        let next = try ask("b")
        refresh.answer(.granted(try agent.granted("token-a")))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-b")))
        #expect(try await next.answer().body.contains("token-b"))
        await agent.stop()
    }

    /// A report of `token` at the restricted socket, with more members.
    private func report(_ token: String, _ more: String = "") -> String {
        SocketPeer.request(
            "POST",
            "/v1/sessions/work/report",
            body: #"{"token":"\#(token)","status":401\#(more)}"#
        )
    }

    @Test(.holds("21")) func `a report there has the session refreshed once a minute`() async throws {
        let agent = try await RestrictedSocketTests.agent()
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        try peer.send(report("token-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        let fresh = try await peer.answer().body
        #expect(fresh.contains(#""action":"retry""#) && fresh.contains("token-2"))
        // A late report gets the current token.
        try peer.send(report("token-1"))
        #expect(try await peer.answer().body.contains("token-2"))
        for _ in 0..<100 {
            try peer.send(report("token-2"))
            #expect(try await peer.answer().body == "{\"action\":\"none\"}\n")
        }
        #expect(agent.serving.refreshCount == 1)
        await agent.advance(by: .seconds(60))
        try peer.send(report("token-2"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3")))
        #expect(try await peer.answer().body.contains("token-3"))
        await agent.stop()
    }

    @Test(.holds("21"))
    func `more life than a good token has left is given once a minute there, and more than any has never`()
        async throws
    {
        let agent = try await RestrictedSocketTests.agent()
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        func ask(_ query: String) throws {
            try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?timeout=0&min_valid=\(query)"))
        }
        await agent.advance(by: .seconds(1))
        for unattainable in [3_600, 3_601, 1_000_000] {
            try ask("\(unattainable)")
            #expect(try await peer.answer().status == 400)
        }
        #expect(agent.serving.refreshCount == 0)
        await agent.advance(by: .seconds(1))
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?min_valid=3599"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try await peer.answer().body.contains("token-2"))
        for _ in 0..<100 {
            await agent.advance(by: .milliseconds(500))
            try ask("3599")
            let answer = try await peer.answer()
            #expect(answer.status == 503 || answer.body.contains("token-2"))
        }
        // A report would cause the same refresh.
        try peer.send(report("token-2"))
        #expect(try await peer.answer().body == "{\"action\":\"none\"}\n")
        #expect(agent.serving.refreshCount == 1)
        await agent.advance(by: .seconds(10))
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?min_valid=3599"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3")))
        #expect(try await peer.answer().body.contains("token-3"))
        await agent.stop()
    }

    @Test func `all sockets share that refresh`() async throws {
        let agent = try await RestrictedSocketTests.agent()
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        try peer.send(report("token-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try await peer.answer().body.contains("token-2"))
        let other = try agent.peer()
        let limits = #"{"sessions":["work"],"host":"build.example"}"#
        #expect(try await other.exchange("POST", "/v1/restrict", body: limits).status == 200)
        try other.send(report("token-2"))
        #expect(try await other.answer().body == "{\"action\":\"none\"}\n")
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }

    @Test(
        .holds("21"),
        arguments: [
            #","body":"{\"code\":\"token_revoked\"}""#, #","body":"{\"requiresReauth\":true}""#,
            #","www_authenticate":"Bearer error=\"token_revoked\"""#, "again",
        ]
    )
    func `a report there ends nothing`(more: String) async throws {
        let agent = try await RestrictedSocketTests.agent {
            $0.sessions[AgentHarness.work]?.endsWithSecondRefusal = true
        }
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        var current = "token-1"
        for round in 0..<3 {
            try peer.send(report(current, more == "again" ? "" : more))
            if agent.serving.refreshCount == 0, !more.contains("www") {
                await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
                current = "token-2"
            }
            #expect(try await peer.answer().status == 200, "\(round)")
        }
        #expect(!agent.observed.names.contains(.loginRequired))
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").body.contains(current))
        await agent.stop()
    }

    @Test func `a report there is worth nothing where a token cannot be replaced`() async throws {
        let agent = try await RestrictedSocketTests.agent()
        let login = try agent.peer()
        try login.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        let call = await agent.serving.nextLogIn()
        call.answer(
            .granted(
                LoginGrant(
                    tokens: try agent.granted("only"),
                    renewal: .impossible,
                    tokenEndpoint: "https://id.example/token"
                )
            )
        )
        _ = try await login.streamHead()
        _ = try await login.chunk()
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        for _ in 0..<3 {
            try peer.send(report("only"))
            #expect(try await peer.answer().body == "{\"action\":\"none\"}\n")
        }
        #expect(try await agent.peer().exchange("GET", "/v1/sessions/work/token").body.contains("only"))
        await agent.stop()
    }
}
