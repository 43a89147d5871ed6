// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// A login with many roles, `work`, and a session that is one of them, `home`.
@Suite(.timeLimit(.minutes(10)))
struct LoginRoleTests {
    private static let members = #""AccessKeyId":"AKIA","SecretAccessKey":"s3cr/et","SessionToken":"t+1=""#
    private static let role = "account=111122223333&role=Admin"

    private static func agent(
        _ change: @escaping (inout AgentConfiguration, TemporaryDirectory) -> Void = { _, _ in }
    ) async throws -> AgentHarness {
        try await AgentHarness.configured { configuration, directory in
            configuration.sessions[AgentHarness.work]?.kind = "aws_sso"
            configuration.sessions[AgentHarness.work]?.policy.roles = .variants
            configuration.sessions[AgentHarness.work]?.policy.tokensOutliveLogin = false
            configuration.sessions[AgentHarness.home]?.kind = "aws_role"
            configuration.sessions[AgentHarness.home]?.policy =
                SessionPolicy(tokensOutliveLogin: false).forRoles
            configuration.sessions[AgentHarness.home]?.policy.roles = .own
            configuration.sessions[AgentHarness.home]?.policy.startsByItself = true
            configuration.sessions[AgentHarness.home]?.sources = SessionSources(
                subject: SessionSources.Source(session: AgentHarness.work)
            )
            change(&configuration, directory)
        }
    }

    /// An agent whose `work` is logged in, and whose `home` has credentials.
    private static func loggedIn(
        _ change: @escaping (inout AgentConfiguration, TemporaryDirectory) -> Void = { _, _ in }
    ) async throws -> AgentHarness {
        let agent = try await agent(change)
        try await agent.logIn()
        try await agent.answer(AgentHarness.home, with: members)
        #expect(try await Polling.until { try await agent.aws("home").status == 200 })
        return agent
    }

    @Test func `a role is asked for by account and name, once for everybody`() async throws {
        let agent = try await Self.loggedIn()
        let peers = try (0..<20).map { _ in try agent.peer() }
        for peer in peers {
            try peer.send(SocketPeer.request("GET", "/v1/sessions/work/aws?\(Self.role)"))
        }
        let call = await agent.serving.nextRefresh()
        #expect(call.request.variant == TokenVariant(scopes: [], audience: "111122223333/Admin"))
        #expect(call.request.renewal == .withoutLogin)
        #expect(try call.request.accessToken.map(agent.text) == "token-1")
        call.answer(.granted(try agent.credentials(Self.members)))
        for peer in peers { #expect(try await peer.answer().body == "{\"Version\":1,\(Self.members)}\n") }
        #expect(agent.serving.refreshCount == 2)
        let lines = try await agent.auditLines().filter { $0["session"]?.string == "work" }
        #expect(lines.contains { $0["decision"]?.string == "served" }, "\(lines)")
        await agent.stop()
    }

    @Test(arguments: [
        "", "account=111122223333", "role=Admin", "account=1&role=Admin", "account=111122223333&role=a%2Fb",
        "account=111122223333&role=", "\(role)&role=Admin", "\(role)&account=111122223333", "\(role)&scope=a",
        "\(role)&audience=a", "\(role)&kind=id", "\(role)&min_valid=x", "\(role)&user=me",
        "account=%00&role=a",
    ])
    func `a role that is not named properly is not asked for`(query: String) async throws {
        let agent = try await Self.loggedIn()
        #expect(try await agent.aws("work", query).status == 400)
        #expect(agent.serving.refreshCount == 1)
        await agent.stop()
    }

    @Test func `a session that is a role has no other, and another session none`() async throws {
        let agent = try await Self.loggedIn { configuration, _ in
            configuration.sessions[AgentHarness.work]?.policy.roles = AWSRoleTokens.none
        }
        let own = try await agent.aws("home", Self.role)
        #expect(own.status == 400 && own.body.contains("tokenctl aws home"), "\(own.body)")
        let none = try await agent.aws("work", Self.role)
        #expect(none.status == 400 && none.body.contains("tokenctl get work"), "\(none.body)")
        await agent.stop()
    }

    @Test(
        .holds("188"),
        arguments: [
            ("GET", "token?audience=111122223333%2FAdmin", nil),
            ("POST", "refresh", #"{"audience":"111122223333/Admin"}"#),
            ("POST", "report", #"{"token":"x","status":401,"audience":"111122223333/Admin"}"#),
        ] as [(String, String, String?)]
    )
    func `credentials of a role come nowhere else`(method: String, rest: String, body: String?) async throws {
        let agent = try await Self.loggedIn()
        try await agent.have(Self.role, Self.members)
        let peer = try agent.peer()
        try peer.send(SocketPeer.request(method, "/v1/sessions/work/\(rest)", body: body))
        if method == "POST", rest == "refresh" {
            let other = Self.members.replacing("AKIA", with: "ASIA")
            await agent.serving.nextRefresh().answer(.granted(try agent.credentials(other)))
        }
        let answer = try await peer.answer()
        #expect(!answer.body.contains("AccessKeyId") && !answer.body.contains("s3cr"), "\(answer.body)")
        #expect(answer.status == (rest == "refresh" ? 200 : 400), "\(answer.body)")
        await agent.stop()
    }

    @Test(.holds("188")) func `a token that the portal refused is replaced, for a role of its own too`()
        async throws
    {
        let agent = try await Self.loggedIn()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        let refused = await agent.serving.nextRefresh()
        #expect(refused.session == AgentHarness.home)
        refused.answer(.failed(RefreshFailure(kind: .sourceRefused, message: "401")))
        let renewal = await agent.serving.nextRefresh()
        #expect(renewal.session == AgentHarness.work && renewal.request.variant == .primary)
        renewal.answer(.granted(try agent.granted("token-2")))
        let again = await agent.serving.nextRefresh()
        #expect(again.session == AgentHarness.home)
        #expect(try again.request.sources.subject.map(agent.text) == "token-2")
        again.answer(.granted(try agent.credentials(Self.members)))
        #expect(try await peer.answer().status == 200)
        await agent.stop()
    }

    @Test func `a login that the portal and its server refused is asked for, and not the role's`()
        async throws
    {
        let agent = try await Self.loggedIn()
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/home/refresh", body: "{}"))
        await agent.serving.nextRefresh().answer(
            .failed(RefreshFailure(kind: .sourceRefused, message: "401"))
        )
        await agent.serving.nextRefresh().answer(
            .failed(RefreshFailure(kind: .interactionRequired, message: "over"))
        )
        let answer = try await peer.answer()
        #expect(answer.status == 401 && answer.body.contains("tokenctl login work"), "\(answer.body)")
        #expect(try await agent.aws("home").status == 401)
        #expect(try await agent.aws("work", Self.role).status == 401)
        await agent.stop()
    }

    @Test(.holds("188")) func `a restricted socket gives the roles that its table names`() async throws {
        let agent = try await Self.loggedIn { configuration, directory in
            configuration.sockets = [
                RestrictedSocket(
                    path: directory.path("run/roles.sock"),
                    sessions: [AgentHarness.work],
                    audiences: ["111122223333/Admin"],
                    mode: 0o600
                )
            ]
        }
        let path = agent.directory.path("run/roles.sock")
        let peer = try SocketPeer(path)
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/aws?\(Self.role)"))
        await agent.serving.nextRefresh().answer(.granted(try agent.credentials(Self.members)))
        #expect(try await peer.answer().status == 200)
        let other = try await SocketPeer(path).exchange(
            "GET",
            "/v1/sessions/work/aws?account=111122223333&role=Owner"
        )
        #expect(other.status == 403 && other.body.contains("audiences"), "\(other.body)")
        await agent.stop()
    }
}

extension AgentHarness {
    fileprivate func aws(_ session: String, _ query: String = "") async throws -> SocketPeer.Answer {
        let query = query.isEmpty ? "" : "?\(query)"
        return try await peer().exchange("GET", "/v1/sessions/\(session)/aws\(query)")
    }

    /// Credentials that live an hour.
    fileprivate func credentials(_ members: String) throws -> GrantedTokens {
        var tokens = try granted(members)
        tokens.tokenType = AWSRoleTokens.tokenType
        return tokens
    }

    /// Answers the next request to a server, which has to be for `session`.
    fileprivate func answer(_ session: SessionName, with members: String) async throws {
        let call = await serving.nextRefresh()
        #expect(call.session == session)
        call.answer(.granted(try credentials(members)))
    }

    /// Gets the credentials of a role of `work`.
    fileprivate func have(_ role: String, _ members: String) async throws {
        let peer = try peer()
        try peer.send(SocketPeer.request("GET", "/v1/sessions/work/aws?\(role)"))
        try await answer(AgentHarness.work, with: members)
        #expect(try await peer.answer().status == 200)
    }
}
