// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// Proofs for those who show a token that is bound to a key (RFC 9449 §7).
struct ProofTests {
    private func ask(
        _ query: String,
        of agent: AgentHarness
    ) async throws -> (status: Int, object: JSONObject) {
        let answer = try await agent.peer().exchange("GET", "/v1/sessions/work/token?\(query)")
        return (answer.status, try #require(try JSONValue(parsing: answer.body.utf8).object))
    }

    @Test(arguments: [
        ("dpop_url=https%3A%2F%2Fapi.example%2Fa%3Fb%3Dc%23d", "GET https://api.example/a -"),
        ("dpop_url=http%3A%2F%2F127.0.0.1%3A8080&dpop_method=POST", "POST http://127.0.0.1:8080 -"),
        (
            "dpop_nonce=n-1&dpop_method=get&dpop_url=HTTPS%3A%2F%2Fapi.example%2F",
            "get HTTPS://api.example/ n-1"
        ),
    ])
    func `token and proof come together`(query: String, tokenRequest: String) async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(isBound: true)
        let (status, object) = try await ask(query, of: agent)
        #expect(status == 200)
        #expect(object["access_token"] == "token-1")
        #expect(object["dpop_proof"]?.string?.hasPrefix(tokenRequest + " ") == true)
        #expect(object.members.last?.name == "dpop_proof")
        await agent.stop()
    }

    @Test func `who asks for no proof gets the answer of always`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(isBound: true)
        let (status, object) = try await ask("", of: agent)
        #expect(status == 200 && object["access_token"] == "token-1" && object["dpop_proof"] == nil)
        await agent.stop()
    }

    @Test(.holds("O53")) func `a request that waits gets the proof of the token it waited for`() async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(isBound: true)
        await agent.advance(by: .seconds(3_700))
        let refresh = await agent.serving.nextRefresh()
        let peer = try agent.peer()
        try peer.send(
            SocketPeer.request("GET", "/v1/sessions/work/token?dpop_url=https%3A%2F%2Fa.example%2F")
        )
        let granted = try agent.granted("token-2")
        refresh.answer(.granted(granted))
        let object = try #require(try JSONValue(parsing: try await peer.answer().body.utf8).object)
        #expect(object["access_token"] == "token-2")
        #expect(object["dpop_proof"]?.string?.contains(" \(granted.accessToken.rawValue) ") == true)
        await agent.stop()
    }

    @Test func `tokens that are bound to no key have no proof`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let (_, object) = try await ask("dpop_url=https%3A%2F%2Fa.example%2F", of: agent)
        #expect(object["error"]?.object?["code"] == "misconfigured")
        #expect(object["access_token"] == nil)
        await agent.stop()
    }

    @Test(arguments: [
        "dpop_method=GET", "dpop_nonce=n", "dpop_url=", "dpop_url=api.example", "dpop_url=ftp%3A%2F%2Fa%2F",
        "dpop_url=https%3A%2F%2F", "dpop_url=https%3A%2F%2Fuser%3Apw%40a%2F", "dpop_url=https%3A%2F%2F%2Fa",
        "dpop_url=https%3A%2F%2Fa%20b",
        "dpop_url=https%3A%2F%2Fa&dpop_method=", "dpop_url=https%3A%2F%2Fa&dpop_method=G%20T",
        "dpop_url=https%3A%2F%2Fa&dpop_nonce=", "dpop_url=https%3A%2F%2Fa&dpop_nonce=%22",
        "dpop_url=https%3A%2F%2Fa&kind=id", "dpop_url=https%3A%2F%2Fa&dpop_url=https%3A%2F%2Fa",
    ])
    func `what no proof can be made for is refused`(query: String) async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(isBound: true)
        let (status, object) = try await ask(query, of: agent)
        #expect(status == 400)
        #expect(object["error"]?.object?["code"] == "bad_request")
        await agent.stop()
    }

    @Test func `a proof does not come as text`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(isBound: true)
        let request =
            "GET /v1/sessions/work/token?dpop_url=https%3A%2F%2Fa.example%2F HTTP/1.1\r\nHost: tokenagent\r\n"
            + "Accept: text/plain\r\n\r\n"
        let peer = try agent.peer()
        try peer.send(request)
        #expect(try await peer.answer().status == 400)
        await agent.stop()
    }
}
