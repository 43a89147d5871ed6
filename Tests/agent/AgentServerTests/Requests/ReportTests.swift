// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Reports of rejected tokens, and the actions of the agent.
@Suite(.timeLimit(.minutes(10)))
struct ReportTests {
    private static let mail = TokenVariant(scopes: ["mail"], audience: nil)

    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    private func report(_ token: String, _ more: String = "") -> String {
        SocketPeer.request(
            "POST",
            "/v1/sessions/work/report",
            body: #"{"token":"\#(token)","status":401\#(more)}"#
        )
    }

    /// Returns a logged-in agent with a token for the scope `mail` and the ordinary token.
    private func agentWithTwoTokens(
        _ peer: (AgentHarness) throws -> SocketPeer
    ) async throws -> (
        AgentHarness, SocketPeer
    ) {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try peer(agent)
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/token?scope=mail"))
        let refresh = await agent.serving.nextRefresh()
        #expect(refresh.request.variant == Self.mail)
        refresh.answer(.granted(try agent.granted("mail-1")))
        #expect(try json(await peer.answer())["access_token"] == "mail-1")
        return (agent, peer)
    }

    @Test(arguments: ["", #","scope":"mail""#])
    func `a refused token is found among those of all scopes`(named: String) async throws {
        let (agent, peer) = try await agentWithTwoTokens { try $0.peer() }
        try peer.send(report("mail-1", named))
        let refresh = await agent.serving.nextRefresh()
        #expect(refresh.request.variant == Self.mail)
        refresh.answer(.granted(try agent.granted("mail-2")))
        #expect(try json(await peer.answer())["access_token"] == "mail-2")
        // The ordinary token was not rejected.
        let other = try await peer.exchange("GET", "/v1/sessions/work/token")
        #expect(try json(other)["access_token"] == "token-1")
        #expect(agent.serving.refreshCount == 2)
        await agent.stop()
    }

    @Test func `whoever is late with the token of a scope gets the present one of that scope`() async throws {
        let (agent, peer) = try await agentWithTwoTokens { try $0.peer() }
        try peer.send(report("mail-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("mail-2")))
        #expect(try json(await peer.answer())["access_token"] == "mail-2")
        try peer.send(report("mail-1", #","scope":"mail""#))
        #expect(try json(await peer.answer())["access_token"] == "mail-2")
        // After an immediate second rejection, a new token would not help. The ordinary token is not affected.
        try peer.send(report("mail-2"))
        #expect(try json(await peer.answer())["action"] == "none")
        try peer.send(report("token-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try json(await peer.answer())["access_token"] == "token-2")
        #expect(agent.serving.refreshCount == 3)
        await agent.stop()
    }

    @Test func `a rejected token of a scope is refreshed on request, once`() async throws {
        let (agent, peer) = try await agentWithTwoTokens { try $0.peer() }
        let body = #"{"rejected_token":"mail-1","scope":"mail"}"#
        let request = SocketPeer.request("POST", "/v1/sessions/work/refresh", body: body)
        try peer.send(request)
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("mail-2")))
        #expect(try json(await peer.answer())["access_token"] == "mail-2")
        try peer.send(request)
        #expect(try json(await peer.answer())["access_token"] == "mail-2")
        #expect(agent.serving.refreshCount == 2)
        await agent.stop()
    }

    @Test func `where the protocol says so, a refusal after the refresh ends the session`() async throws {
        let agent = try await AgentHarness()
        agent.configuration.change { $0.sessions[AgentHarness.work]?.endsWithSecondRefusal = true }
        let peer = try agent.peer()
        #expect(try await peer.exchange("POST", "/v1/reload").status == 200)
        try await agent.logIn()
        try peer.send(report("token-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try json(await peer.answer())["access_token"] == "token-2")
        try peer.send(report("token-2"))
        let answer = try await peer.answer()
        #expect(answer.status == 401 && answer.body.contains("rejected the refreshed token too"))
        #expect(agent.observed.names.last == .loginRequired)
        // A token that the server rejects is not served until its expiry.
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 401)
        await agent.stop()
    }

    @Test func `a token revoked again after ten seconds ends no session`() async throws {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.work]?.endsWithSecondRefusal = true
        }
        try await agent.logIn()
        let peer = try agent.peer()
        for round in 1...3 {
            try peer.send(report("token-\(round)"))
            await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-\(round + 1)")))
            #expect(try json(await peer.answer())["access_token"]?.string == "token-\(round + 1)")
            agent.time.advance(by: .seconds(10))
        }
        await agent.stop()
    }

    @Test func `a resource server's word for a login's end means nothing where the kind has none`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(report("token-1", #","body":"{\"requiresReauth\":true}""#))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try json(await peer.answer())["access_token"] == "token-2")
        await agent.stop()
    }

    @Test(.holds("141")) func `a refused token is not handed out again, also when the server is away`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(report("token-1"))
        let failure = RefreshFailure(kind: .busy, message: "503")
        await agent.serving.nextRefresh().answer(.failed(failure))
        #expect(try await peer.answer().status == 503)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 503)
        let status = try json(await peer.exchange("GET", "/v1/sessions/work"))
        #expect(status["expires_at"] == nil)
        await agent.stop()
    }

    @Test func `a server that gives out the refused token again is named, and nobody gets the token`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(report("token-1"))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-1")))
        let answer = try json(await peer.answer())
        #expect(answer["action"] == "none")
        #expect(answer["message"] == "the authorization server issued the rejected token again")
        #expect(answer["retry_after"]?.integer == 10)
        #expect(try await peer.exchange("GET", "/v1/sessions/work/token?timeout=0").status == 503)
        await agent.stop()
    }

    @Test func `why nothing helps is said, and when something will`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        let expired = #","body":"{\"error\":\"access_token_expired\"}""#
        try peer.send(report("token-1", expired))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-2")))
        #expect(try json(await peer.answer())["access_token"] == "token-2")
        agent.time.advance(by: .seconds(4))
        try peer.send(report("token-2", expired))
        let answer = try json(await peer.answer())
        #expect(answer["action"] == "none")
        #expect(answer["message"] == "a server rejected the token that had just replaced a rejected one")
        #expect(answer["retry_after"]?.integer == 6)
        await agent.advance(by: .seconds(6))
        await agent.serving.nextRefresh().answer(.granted(try agent.granted("token-3")))
        #expect(try json(await peer.exchange("GET", "/v1/sessions/work/token"))["access_token"] == "token-3")
        await agent.stop()
    }

    /// Further members of a report of status 401, the number of reports, and whether they end the login.
    @Test(
        .holds("141"),
        arguments: [
            ("", 3, false), (#","host":"api.example.com""#, 1, false),
            (#","host":"api.example.com""#, 2, true),
            (#","host":"other.example""#, 3, false), (#","host":"api.example.com/x""#, 3, false),
            (#","www_authenticate":"Bearer error=\"invalid_token\"""#, 1, true),
            (#","www_authenticate":"Bearer error=\"insufficient_scope\"""#, 3, false),
            (#","body":"{\"error\":\"access_token_expired\"}""#, 1, true),
        ]
    )
    func `a login that cannot be refreshed ends only with a refusal that is about its token`(
        more: String,
        times: Int,
        ends: Bool
    ) async throws {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.work]?.hosts = ["*.example.com"]
        }
        try await agent.logIn(isRenewable: false)
        let peer = try agent.peer()
        for time in 1...times {
            try peer.send(report("token-1", more))
            let answer = try await peer.answer()
            #expect(answer.status == (ends && time == times ? 401 : 200))
        }
        let token = try await peer.exchange("GET", "/v1/sessions/work/token")
        #expect(token.status == (ends ? 401 : 200))
        let status = try json(await peer.exchange("GET", "/v1/sessions/work"))
        #expect(status["reason"] == (ends ? "no_refresh_token" : nil))
        #expect(agent.serving.refreshCount == 0)
        await agent.stop()
    }

    @Test func `refusals more than a minute apart are not two in a row`() async throws {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.work]?.hosts = ["api.example.com"]
        }
        try await agent.logIn(isRenewable: false)
        let peer = try agent.peer()
        for _ in 1...3 {
            try peer.send(report("token-1", #","host":"api.example.com""#))
            #expect(try json(await peer.answer())["action"] == "none")
            agent.time.advance(by: .seconds(61))
        }
        await agent.stop()
    }

    @Test func `without a refresh token nothing is refreshed, and the token goes on being given out`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(isRenewable: false)
        let peer = try agent.peer()
        for _ in 1...3 {
            let answer = try await peer.exchange("POST", "/v1/sessions/work/refresh")
            #expect(
                answer.status == 400
                    && answer.body.contains("cannot refresh: the issuer returned no refresh token")
            )
            #expect(answer.body.contains("tokenctl login work"))
            #expect(try await peer.exchange("GET", "/v1/sessions/work/token").status == 200)
        }
        await agent.stop()
    }

    @Test(.holds("141"))
    func `a refresh of a refused token that cannot be replaced follows the rule for reports`()
        async throws
    {
        let agent = try await AgentHarness()
        try await agent.logIn(isRenewable: false)
        let peer = try agent.peer()
        func refused() async throws -> Int {
            let body = #"{"rejected_token":"token-1"}"#
            return try await peer.exchange("POST", "/v1/sessions/work/refresh", body: body).status
        }
        func served() async throws -> Int {
            try await peer.exchange("GET", "/v1/sessions/work/token").status
        }
        for _ in 1...2 {
            #expect(try await refused() == 503)
            #expect(try await served() == 200)
            agent.time.advance(by: .seconds(61))
        }
        #expect(try await refused() == 503)
        #expect(try await refused() == 401)
        #expect(try await served() == 401)
        #expect(try await refused() == 401)
        let status = try json(await peer.exchange("GET", "/v1/sessions/work"))
        #expect(status["reason"] == "no_refresh_token")
        await agent.stop()
    }

    @Test func `a token without end is given out without one`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn(lifetime: nil, isRenewable: false)
        await agent.advance(by: .seconds(90 * 86_400))
        let peer = try agent.peer()
        let token = try json(await peer.exchange("GET", "/v1/sessions/work/token?min_valid=60"))
        #expect(token["access_token"] == "token-1")
        #expect(token["expires_at"] == nil && token["expires_in"] == nil)
        let status = try json(await peer.exchange("GET", "/v1/sessions/work"))
        #expect(status["state"] == "ready")
        #expect(status["expires_at"] == nil && status["login_ends_at"] == nil)
        await agent.stop()
    }

    @Test(arguments: [("signInAgain", true), ("requiresReauth", false)])
    func `the member that demands a login has the name of the configuration`(
        member: String,
        isKnown: Bool
    ) async throws {
        let agent = try await AgentHarness()
        agent.configuration.change {
            $0.sessions[AgentHarness.work]?.jsonResponsePaths.loginDemand = "signInAgain"
        }
        let peer = try agent.peer()
        #expect(try await peer.exchange("POST", "/v1/reload").status == 200)
        try await agent.logIn()
        let body = #"{"token":"token-1","status":403,"body":"{\"\#(member)\":true}"}"#
        let answer = try await peer.exchange("POST", "/v1/sessions/work/report", body: body)
        #expect(answer.status == (isKnown ? 401 : 200))
        await agent.stop()
    }
}
