// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

@Suite(.timeLimit(.minutes(10)))
struct RoutesTests {
    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    @Test func `the agent says who it is`() async throws {
        let agent = try await AgentHarness()
        let object = try json(await agent.peer().exchange("GET", "/v1"))
        #expect(object["version"]?.string == "1.2.3")
        #expect(object["api"]?.integer == 1)
        #expect(object["locked"]?.bool == false)
        #expect(object["sessions"]?.integer == 2)
        #expect(object["store"]?.string == "/state")
        #expect(object["configuration"]?.string == "/config.toml")
        await agent.stop()
    }

    @Test(arguments: [
        ("GET", "/"), ("GET", "/v2"), ("GET", "/v1/nothing"), ("GET", "/v1/sessions/.."),
        ("GET", "/v1/sessions/work/x"),
        ("GET", "/v1/sessions/a%2fb"), ("POST", "/v1/sessions/work/login/x"), ("GET", "/v1/sessions/nobody"),
        ("GET", "/v1/sessions/nobody/token"), ("POST", "/v1/sessions/nobody/logout"),
        ("POST", "/v1/sessions/work/login/77"), ("DELETE", "/v1/vault/slots/-1"),
    ])
    func `unknown addresses and sessions are not found`(method: String, target: String) async throws {
        let agent = try await AgentHarness()
        let body = method == "POST" ? #"{"value":"x"}"# : nil
        let isAnswer = target.contains("/login/")
        let answer = try await agent.peer().exchange(method, target, body: isAnswer ? body : nil)
        #expect(answer.status == 404)
        #expect(try json(answer)["error"]?.object?["code"]?.string == "not_found")
        await agent.stop()
    }

    @Test(arguments: [
        ("POST", "/v1", "GET, HEAD"), ("DELETE", "/v1/sessions/work", "GET, HEAD"),
        ("GET", "/v1/lock", "POST"),
        ("PUT", "/v1/sessions/work/token", "GET, HEAD"), ("HEAD", "/v1/events", "GET, HEAD"),
        ("GET", "/v1/vault/slots/1", "DELETE"),
    ])
    func `a wrong method is told the right one`(method: String, target: String, allowed: String) async throws
    {
        let agent = try await AgentHarness()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request(method, target, fields: "Connection: close\r\n"))
        let answer = try await peer.rest()
        #expect(answer.hasPrefix("HTTP/1.1 405 "))
        #expect(answer.contains("\r\nAllow: \(allowed)\r\n"))
        await agent.stop()
    }

    @Test(arguments: [
        ("/v1/sessions/work/refresh", "[]"), ("/v1/sessions/work/refresh", #"{"x":1}"#),
        ("/v1/sessions/work/refresh", #"{"rejected_token":1}"#),
        ("/v1/sessions/work/logout", #"{"local":"yes"}"#),
        ("/v1/sessions/work/client-secret", "{}"), ("/v1/sessions/work/client-secret", #"{"secret":""}"#),
        ("/v1/sessions/work/login", #"{"flow":"magic"}"#), ("/v1/sessions/work/report", #"{"status":401}"#),
        ("/v1/vault/slots", #"{"type":"wish"}"#), ("/v1/vault/slots", #"{"type":"command","command":[]}"#),
        ("/v1/vault/passwd", #"{"old":"a"}"#), ("/v1/unlock", "{"),
        ("/v1/sessions/work/refresh", #"{"a":1,"a":2}"#),
    ])
    func `bodies are checked`(target: String, body: String) async throws {
        let agent = try await AgentHarness()
        let answer = try await agent.peer().exchange("POST", target, body: body)
        #expect(answer.status == 400)
        #expect(try json(answer)["error"]?.object?["code"]?.string == "bad_request")
        await agent.stop()
    }

    @Test func `a forced refresh brings a new token, unless the refused one is old already`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        let old = try await peer.exchange(
            "POST",
            "/v1/sessions/work/refresh",
            body: #"{"rejected_token":"other"}"#
        )
        #expect(old.body.contains("token-1"))
        #expect(agent.serving.refreshCount == 0)
        agent.time.advance(by: .seconds(1))
        try peer.send(
            SocketPeer.request("POST", "/v1/sessions/work/refresh", body: #"{"rejected_token":"token-1"}"#)
        )
        let refresh = await agent.serving.nextRefresh()
        agent.time.advance(by: .seconds(1))
        refresh.answer(.granted(try agent.granted("token-2")))
        #expect(try await peer.answer().body.contains("token-2"))
        await agent.stop()
    }

    @Test func `a refused token is replaced once`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        let report = { (token: String) in
            SocketPeer.request(
                "POST",
                "/v1/sessions/work/report",
                body: #"{"token":"\#(token)","status":401}"#
            )
        }
        try peer.send(report("token-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        let retry = try json(await peer.answer())
        #expect(retry["action"]?.string == "retry" && retry["access_token"]?.string == "token-2")
        try peer.send(report("token-1"))
        let answer1 = try json(await peer.answer())
        #expect(answer1["access_token"]?.string == "token-2")
        try peer.send(report("token-2"))
        let answer2 = try json(await peer.answer())
        #expect(answer2["action"]?.string == "none")
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }

    @Test func `a thousand reports of one token are one refresh`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peers = try (0..<20).map { _ in try agent.peer() }
        let body = #"{"token":"token-1","status":401,"www_authenticate":"Bearer error=\"invalid_token\""}"#
        let report = SocketPeer.request("POST", "/v1/sessions/work/report", body: body)
        try peers[0].send(report)
        let refresh = await agent.serving.nextRefresh()
        for _ in 0..<50 { for peer in peers.dropFirst() { try peer.send(report) } }
        refresh.answer(.granted(try agent.granted("token-2")))
        for (peer, count) in zip(peers, [1] + [Int](repeating: 50, count: 19)) {
            for _ in 0..<count {
                let answer = try json(await peer.answer())
                #expect(answer["action"] == "retry" && answer["access_token"] == "token-2")
            }
        }
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }

    @Test func `a token that a report brought is replaced again after a while`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        let report = { (token: String) in
            SocketPeer.request(
                "POST",
                "/v1/sessions/work/report",
                body: #"{"token":"\#(token)","status":401}"#
            )
        }
        try peer.send(report("token-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try json(await peer.answer())["access_token"] == "token-2")
        agent.time.advance(by: .seconds(9))
        try peer.send(report("token-2"))
        #expect(try json(await peer.answer())["action"] == "none")
        agent.time.advance(by: .seconds(1))
        try peer.send(report("token-2"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3")))
        #expect(try json(await peer.answer())["access_token"] == "token-3")
        await agent.stop()
    }

    @Test func `a resource server that ends the session is believed`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        let body = #"{"token":"token-1","status":401,"body":"{\"code\":\"token_revoked\"}"}"#
        let answer = try await peer.exchange("POST", "/v1/sessions/work/report", body: body)
        #expect(answer.status == 401)
        #expect(try json(answer)["error"]?.object?["code"]?.string == "login_required")
        #expect(agent.observed.names.contains(.loginRequired))
        await agent.stop()
    }

    @Test(arguments: [
        (401, "", "", ReportedRejection.Verdict.tokenRefused(isStated: false)),
        (403, "", "", .unrelated),
        (500, "", "", .unrelated),
        (500, "", #"{"code":"token_revoked"}"#, .unrelated),
        (503, #"Bearer error="token_revoked""#, #"{"requiresReauth":true}"#, .unrelated),
        (200, "", #"{"code":"token_revoked"}"#, .unrelated),
        (200, "", #"{"error":"access_token_expired"}"#, .unrelated),
        (302, "", #"{"requiresReauth":true}"#, .unrelated),
        (499, "", #"{"code":"token_revoked"}"#, .sessionOver),
        (401, #"Bearer error="invalid_token""#, "", .tokenRefused(isStated: true)),
        (401, "Bearer error=invalid_token, realm=x", "", .tokenRefused(isStated: true)),
        (401, #"Bearer realm="x", error="insufficient_scope""#, "", .unrelated),
        (401, #"DPoP error="use_dpop_nonce""#, "", .unrelated),
        (401, #"DPoP algs="ES256", error="invalid_dpop_proof""#, "", .unrelated),
        (403, "", #"{"error":"access_token_expired"}"#, .tokenRefused(isStated: true)),
        (400, "", #"{"error":{"code":"token_revoked"}}"#, .sessionOver),
        (401, "", #"{"errorCode":"token_revoked"}"#, .sessionOver),
        (401, "", #"{"error":"Unauthorized","code":"token_revoked"}"#, .sessionOver),
        (401, "", #"{"error":"token_revoked","code":"access_token_expired"}"#, .tokenRefused(isStated: true)),
        (401, "", #"{"requiresReauth":true}"#, .sessionOver),
        (401, "", "\u{FEFF}{\"code\":\"token_revoked\"}", .sessionOver),
        (401, "", "<html>", .tokenRefused(isStated: false)),
    ])
    func `a refusal is judged by status and code`(
        status: Int64,
        challenge: String,
        body: String,
        verdict: ReportedRejection.Verdict
    ) {
        let settings = SessionSettings(
            policy: SessionPolicy(),
            kind: "json",
            issuer: "x",
            fingerprint: "",
            refreshCodes: ["access_token_expired"],
            endCodes: ["token_revoked"],
            jsonResponsePaths: JSONResponsePaths(loginDemand: "requiresReauth")
        )
        let refusal = ReportedRejection(status: status, challenge: challenge, body: body)
        #expect(refusal.verdict(for: settings) == verdict)
    }

    @Test func `metrics keep to the exposition format`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        _ = try await peer.exchange("GET", "/v1/sessions/work/token")
        _ = try await peer.exchange("GET", "/v1/sessions/home/token")
        let answer = try await peer.exchange("GET", "/v1/metrics")
        #expect(answer.head.contains("Content-Type: text/plain; version=0.0.4"))
        #expect(answer.body.contains("tokenagent_gets_total{session=\"work\",result=\"ok\"} 1\n"))
        #expect(answer.body.contains("tokenagent_gets_total{session=\"home\",result=\"login_required\"} 1\n"))
        var families: Set<String> = []
        for line in answer.body.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE ") {
                #expect(families.insert(String(words[2])).inserted)
            } else if !line.hasPrefix("#") {
                #expect(words.count == 2 && Int(words[1]) != nil)
                #expect(families.contains(String(words[0].prefix { $0 != "{" })))
            }
        }
        await agent.stop()
    }

    @Test func `the doctor's findings are passed on`() async throws {
        let agent = try await AgentHarness()
        let checks = try json(await agent.peer().exchange("GET", "/v1/doctor"))["checks"]?.array?.compactMap(
            \.object
        )
        #expect(checks?.map { $0["ok"] } == [true, "warning", false])
        await agent.stop()
    }

    @Test func `the doctor names a login that has ended`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: .seconds(100))
        agent.time.advance(by: .seconds(100))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token"))
        await agent.serving.nextRefresh().answer(
            .failed(RefreshFailure(kind: .grantDead, code: "invalid_grant", message: "revoked"))
        )
        #expect(try await peer.answer().body.contains("login_required"))
        let body = try await agent.peer().exchange("GET", "/v1/doctor").body
        #expect(body.contains("work: revoked") && body.contains("tokenctl login work"), "\(body)")
        await agent.stop()
    }

    @Test(arguments: [
        ("GET", "/v1/vault", "", 200),
        ("POST", "/v1/vault/init", #"{"type":"keyfile","unlock_passphrase":"open sesame"}"#, 400),
        (
            "POST", "/v1/vault/slots",
            #"{"type":"passphrase","passphrase":"x","unlock_passphrase":"open sesame"}"#, 200
        ),
        ("DELETE", "/v1/vault/slots/0", #"{"unlock_key":"6b6579"}"#, 400),
        ("POST", "/v1/vault/passwd", #"{"old":"no","new":"x"}"#, 403),
        ("POST", "/v1/vault/passwd", #"{"old":"open sesame","new":"x"}"#, 200),
        ("POST", "/v1/vault/rekey", #"{"passphrase":"open sesame"}"#, 500),
    ])
    func `vault requests answer with how it stands, or why not`(
        method: String,
        target: String,
        body: String,
        status: Int
    ) async throws {
        let agent = try await AgentHarness()
        let answer = try await agent.peer().exchange(method, target, body: body.isEmpty ? nil : body)
        #expect(answer.status == status)
        if status == 200 { #expect(try json(answer)["vault_id"]?.string == "00ff") }
        await agent.stop()
    }

    @Test func `events can be those of one session`() async throws {
        let agent = try await AgentHarness()
        let events = try agent.peer()
        for (query, status) in [("nosuch", 404), ("no%20such", 404), ("", 400)] {
            #expect(try await events.exchange("GET", "/v1/events?session=\(query)").status == status)
        }
        try events.send(SocketPeer.request("GET", "/v1/events?session=home"))
        _ = try await events.streamHead()
        try await agent.logIn(AgentHarness.work)
        try await agent.logIn(AgentHarness.home)
        #expect(try await events.chunk().contains(#""session":"home""#))
        await agent.stop()
        #expect(try await events.chunk() == "")
    }
}
