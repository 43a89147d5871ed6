// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import AgentServer

/// Logins of an account that no ID token has verified.
@Suite(.timeLimit(.minutes(10)))
struct UnverifiedLoginTests {
    /// Returns the end of a login, and the codes of those notes in the status of `work` that are about its account.
    private func notes(
        scopes: [String],
        kind: String = "oidc",
        subject: String? = nil
    ) async throws -> (login: String, status: [String?]) {
        let agent = try await AgentHarness(configure: { configuration, _ in
            configuration.sessions[AgentHarness.work] = SessionSettings(
                policy: SessionPolicy(),
                kind: kind,
                issuer: "https://id.example",
                fingerprint: "1",
                scopes: scopes
            )
        })
        let peer = try agent.peer()
        try peer.send(SocketPeer.request("POST", "/v1/sessions/work/login", body: "{}"))
        let grant = LoginGrant(
            tokens: try agent.granted("token-1"),
            renewal: .impossible,
            tokenEndpoint: "https://id.example/token",
            subject: subject
        )
        await agent.serving.nextLogIn().answer(.granted(grant))
        _ = try await peer.streamHead()
        let login = try await peer.chunk()
        let body = try await agent.peer().exchange("GET", "/v1/sessions/work").body
        await agent.stop()
        let status = try #require(JSONValue(parsing: body.utf8).object)
        return (
            login,
            status["notes"]?.array?.map { $0.object?["code"]?.string }.filter { $0 != "scope_not_granted" }
                ?? []
        )
    }

    @Test(.holds("98")) func `that the account is unknown is said at the login and in the status`()
        async throws
    {
        let (login, status) = try await notes(scopes: ["openid", "read"])
        #expect(status == ["account_unknown"])
        #expect(login.contains("\"done\"") && login.contains("\"account_unknown\""), "\(login)")
    }

    @Test func `a verified account, and a session that asks for none, need no such word`() async throws {
        #expect(try await notes(scopes: ["openid"], subject: "alice").status == [])
        #expect(try await notes(scopes: ["read"]).status == [])
        #expect(try await notes(scopes: ["openid"], kind: "json").status == [])
    }
}
