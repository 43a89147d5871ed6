// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Resource servers that want more of the login, and the login that asks for it (RFC 6750 §3.1, RFC 9470).
@Suite(.timeLimit(.minutes(10)))
struct StepUpTests {
    private static let scope = #"Bearer error=\"insufficient_scope\", scope=\"mail send\""#
    private static let login =
        #"Bearer error=\"insufficient_user_authentication\", acr_values=\"phr mfa\", max_age=\"20\""#

    private func report(
        _ token: String,
        _ status: Int,
        _ challenge: String,
        of session: String = "work"
    ) -> String {
        let body = #"{"token":"\#(token)","status":\#(status),"www_authenticate":"\#(challenge)"}"#
        return SocketPeer.request("POST", "/v1/sessions/\(session)/report", body: body)
    }

    private func json(_ answer: SocketPeer.Answer) throws -> JSONObject {
        try #require(try JSONValue(parsing: answer.body.utf8).object)
    }

    @Test(.holds("195")) func `a report says what to ask for, and the token stays`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(report("token-1", 403, Self.scope))
        let scopes: JSONValue = ["action": "step_up", "scope": "mail send"]
        #expect(try JSONValue(parsing: try await peer.answer().body.utf8) == scopes)
        try peer.send(report("token-1", 401, Self.login))
        let login: JSONValue = ["action": "step_up", "acr_values": "phr mfa", "max_age": 20]
        #expect(try JSONValue(parsing: try await peer.answer().body.utf8) == login)
        #expect(try json(await peer.exchange("GET", "/v1/sessions/work/token"))["access_token"] == "token-1")
        #expect(agent.serving.refreshCount == 0)
        await agent.stop()
    }

    @Test func `whoever shows an old token gets the present one first`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(report("token-0", 403, Self.scope))
        let answer = try json(await peer.answer())
        #expect(answer["action"] == "retry" && answer["access_token"] == "token-1")
        await agent.stop()
    }

    @Test(.holds("195")) func `for tokens made from others the login is the one at the beginning`()
        async throws
    {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.home]?.policy.startsByItself = true
            configuration.sessions[AgentHarness.home]?.loginSubstitute = .run("tokenctl login work")
            configuration.sessions[AgentHarness.home]?.sources.subject =
                SessionSources.Source(session: AgentHarness.work)
        }
        try await agent.logIn()
        let call = await agent.serving.nextRefresh()
        #expect(call.session == AgentHarness.home)
        var tokens = try agent.granted("home-1")
        tokens.origin = IssuanceContext(tokenEndpoint: "https://id.example/token")
        call.answer(.granted(tokens))
        let peer = try agent.peer()
        #expect(
            try await Polling.until {
                try await peer.exchange("GET", "/v1/sessions/home/token").body.contains("home-1")
            }
        )
        try peer.send(report("home-1", 401, Self.login, of: "home"))
        let login: JSONValue = [
            "action": "step_up", "acr_values": "phr mfa", "max_age": 20, "source": "work",
        ]
        #expect(try JSONValue(parsing: try await peer.answer().body.utf8) == login)
        await agent.stop()
    }

    @Test(.holds("195"), arguments: ["cognito", "command"])
    func `where no login can ask for more nothing helps`(kind: String) async throws {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.work]?.kind = kind
        }
        try await agent.logIn()
        let peer = try agent.peer()
        try peer.send(report("token-1", 403, Self.scope))
        let answer = try json(await peer.answer())
        #expect(answer["action"] == "none" && answer["message"]?.string?.isEmpty == false)
        #expect(agent.serving.refreshCount == 0)
        await agent.stop()
    }

    @Test(.holds("195")) func `a restricted socket is told nothing of it`() async throws {
        let agent = try await RestrictedSocketTests.agent()
        let peer = try SocketPeer(RestrictedSocketTests.path(agent))
        try peer.send(report("token-1", 403, Self.scope))
        #expect(try json(await peer.answer())["action"] == "none")
        await agent.stop()
    }

    @Test func `a login asks for more than the one that stands, which is served meanwhile`() async throws {
        let agent = try await AgentHarness()
        try await agent.logIn()
        let peer = try agent.peer()
        let body = #"{"scope":"mail send","acr_values":"phr mfa","max_age":20}"#
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: body))
        let call = await agent.serving.nextLogIn()
        let stepUp = StepUp(
            scopes: ["mail", "send"],
            contextClasses: ["phr", "mfa"],
            maximumAge: .seconds(20)
        )
        #expect(call.request.0.stepUp == stepUp)
        #expect(call.request.0.present?.scope == ["read", "write"])
        let token = try await agent.peer().exchange("GET", "/v1/sessions/work/token")
        #expect(try json(token)["access_token"] == "token-1")
        call.answer(.failed(RefreshFailure(kind: .interactionRequired, message: "another account")))
        let after = try await agent.peer().exchange("GET", "/v1/sessions/work/token")
        #expect(try json(after)["access_token"] == "token-1")
        await agent.stop()
    }

    @Test(arguments: [
        #"{"scope":"a\"b"}"#, #"{"scope":"é"}"#, #"{"acr_values":"\u0001"}"#, #"{"max_age":-1}"#,
        #"{"max_age":315360001}"#,
    ])
    func `what no server understands is not asked for`(body: String) async throws {
        let agent = try await AgentHarness()
        let answer = try await agent.peer().exchange("POST", "/v1/sessions/work/login", body: body)
        #expect(answer.status == 400, "\(answer.body)")
        #expect(agent.serving.logInCount == 0)
        await agent.stop()
    }
}
