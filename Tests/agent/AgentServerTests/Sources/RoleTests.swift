// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Sessions with the credentials of a role in place of a token: `home`, which is made from `work`.
@Suite(.timeLimit(.minutes(10)))
struct RoleTests {
    private static let members = #""AccessKeyId":"AKIA","SecretAccessKey":"s3cr/et","SessionToken":"t+1=""#

    private static func agent() async throws -> AgentHarness {
        let agent = try await AgentHarness.configured { configuration, _ in
            configuration.sessions[AgentHarness.home]?.kind = "aws_role"
            configuration.sessions[AgentHarness.home]?.policy = SessionPolicy().forRoles
            configuration.sessions[AgentHarness.home]?.policy.roles = .own
            configuration.sessions[AgentHarness.home]?.policy.startsByItself = true
            configuration.sessions[AgentHarness.home]?.sources = SessionSources(
                subject: SessionSources.Source(session: AgentHarness.work)
            )
        }
        // The login's own token is not due in any test, so all refreshes are those of the role.
        try await agent.logIn(lifetime: .seconds(86_400))
        try await agent.answerRole(members)
        #expect(try await Polling.until { try await agent.role().status == 200 })
        return agent
    }

    @Test func `the credentials are handed out as the SDKs read them`() async throws {
        let agent = try await Self.agent()
        let answer = try await agent.role()
        #expect(answer.body == "{\"Version\":1,\(Self.members)}\n")
        #expect(answer.head.contains("application/json"))
        let lines = try await agent.auditLines().filter { $0["session"]?.string == "home" }
        #expect(lines.contains { $0["decision"]?.string == "served" && $0["source"]?.string == "work" })
        await agent.stop()
    }

    @Test(
        arguments: [
            ("GET", "token", nil), ("GET", "token?min_valid=1", nil), ("GET", "token?kind=id", nil),
            ("POST", "report", #"{"token":"x","status":401}"#),
        ] as [(String, String, String?)]
    )
    func `whatever hands out a token says where the credentials are`(
        method: String,
        rest: String,
        body: String?
    ) async throws {
        let agent = try await Self.agent()
        let answer = try await agent.peer().exchange(method, "/v1/sessions/home/\(rest)", body: body)
        #expect(answer.status == 400 && answer.body.contains("tokenctl aws home"), "\(answer.body)")
        #expect(!answer.body.contains("s3cr"))
        await agent.stop()
    }

    @Test(.holds("187")) func `a refresh says until when the new ones are good, and no more`() async throws {
        let agent = try await Self.agent()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        try await agent.answerRole(Self.members.replacing("AKIA", with: "ASIA"))
        let answer = try await peer.answer()
        let message = try #require(try JSONValue(parsing: answer.body.utf8).object)
        #expect(message["session"]?.string == "home" && message["expires_in"]?.integer == 3_600)
        #expect(message["access_token"] == nil && !answer.body.contains("AccessKeyId"), "\(answer.body)")
        #expect(try await agent.role().body.contains("ASIA"))
        await agent.stop()
    }

    @Test(arguments: ["scope=a", "audience=a", "kind=id", "dpop_url=https%3A%2F%2Fa%2F", "min_valid=x"])
    func `nothing but a life and a wait can be asked for`(query: String) async throws {
        let agent = try await Self.agent()
        #expect(try await agent.role("?\(query)").status == 400)
        #expect(try await agent.role("?min_valid=600&timeout=1").status == 200)
        await agent.stop()
    }

    @Test func `a session with a token has no role`() async throws {
        let agent = try await Self.agent()
        let answer = try await agent.peer().exchange("GET", "/v1/sessions/work/aws")
        #expect(answer.status == 400 && answer.body.contains("tokenctl get work"), "\(answer.body)")
        await agent.stop()
    }

    @Test(.holds("187")) func `credentials with less than a quarter of an hour are replaced first`()
        async throws
    {
        let agent = try await Self.agent()
        agent.time.advance(by: .seconds(2_701))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/home/aws"))
        try await agent.answerRole(Self.members.replacing("AKIA", with: "ASIA"))
        #expect(try await peer.answer().body.contains("ASIA"))
        await agent.stop()
    }

    /// The age of credentials with a lifetime of one hour, in seconds, and the status while the service is down.
    @Test(.holds("187"), arguments: [(2_400, 200), (2_699, 200), (2_701, 503), (3_590, 503)])
    func `credentials that are about to end are not handed out, even if there are no others`(
        age: Int64,
        status: Int
    ) async throws {
        let agent = try await Self.agent()
        agent.time.advance(by: .seconds(age))
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/home/aws?timeout=1"))
        let call = await agent.serving.nextRefresh()
        #expect(call.session == AgentHarness.home)
        call.answer(.failed(RefreshFailure(kind: .busy, message: "the service is down")))
        let answer = try await peer.answer()
        #expect(answer.status == status)
        #expect(answer.body.contains("AKIA") == (status == 200), "\(answer.body)")
        #expect(answer.body.contains("service is down") == (status == 503), "\(answer.body)")
        let sooner = try await agent.role("?min_valid=5&timeout=0")
        #expect(sooner.status == 200, "what was asked for is enough")
        await agent.stop()
    }
}

extension AgentHarness {
    fileprivate func role(_ query: String = "") async throws -> SocketPeer.Answer {
        try await peer().exchange("GET", "/v1/sessions/home/aws\(query)")
    }

    /// Answers the next request to a server, which has to be for the role, with credentials that live an hour.
    fileprivate func answerRole(_ members: String) async throws {
        let call = await serving.nextRefresh()
        #expect(call.session == AgentHarness.home)
        var tokens = try granted(members)
        tokens.tokenType = "aws"
        call.answer(.granted(tokens))
    }
}
