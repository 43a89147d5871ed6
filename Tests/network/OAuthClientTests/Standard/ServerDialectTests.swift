// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import TokenCore

@testable import OAuthClient

/// Servers that differ from the specifications in ways that the configuration names.
struct ServerDialectTests {
    private let endpoint = "https://tokens.example/token"

    private func profile(_ change: (inout ServerDialect) -> Void) -> ServerProfile {
        var profile = ServerProfile.fixed(scopes: ["read", "write"])
        change(&profile.dialect)
        return profile
    }

    @Test func `scopes are requested and read with commas`() async throws {
        let profile = profile { $0.responses.scopeSeparator = .comma }
        let transaction = AuthorizationTransaction(redirectURI: "http://x", issuer: nil, namesIssuer: false)
        #expect(transaction.parameters(profile).contains { $0.name == "scope" && $0.value == "read,write" })
        let bench = try Bench(profile)
        bench.exchange.expect(endpoint, #"{"access_token":"at","scope":"read,write admin"}"#)
        let granted = try #require(
            try await bench.refresh(variant: TokenVariant(scopes: ["read", "write"], audience: nil)).granted
        )
        #expect(granted.scope == ["read", "write", "admin"])
        #expect(bench.exchange.sent.first?.form["scope"] == "read,write")
    }

    @Test func `a comma belongs to a scope where spaces separate them`() async throws {
        let bench = try Bench(profile { _ in })
        bench.exchange.expect(endpoint, #"{"access_token":"at","scope":"read,write"}"#)
        #expect(try await bench.refresh().granted?.scope == ["read,write"])
    }

    @Test(arguments: [true, false]) func `a code challenge is sent unless the server rejects it`(isUsed: Bool)
    {
        let profile = profile { $0.usesPKCE = isUsed }
        let transaction = AuthorizationTransaction(redirectURI: "http://x", issuer: nil, namesIssuer: false)
        let names = transaction.parameters(profile).map(\.name)
        #expect(names.contains("code_challenge") == isUsed)
        #expect(names.contains("code_challenge_method") == isUsed)
        #expect(names.contains("state"))
    }

    @Test func `further parameters are sent with the grant that they are for`() async throws {
        var profile = profile {
            $0.tokenParameters = ["account_id": "7"]
            $0.refreshParameters = ["redirect_uri_hint": "x"]
            $0.clientGrantType = "account_credentials"
        }
        let refreshing = try Bench(profile)
        refreshing.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        #expect(try await refreshing.refresh().granted != nil)
        let refresh = try #require(refreshing.exchange.sent.first)
        #expect(refresh.form["redirect_uri_hint"] == "x" && refresh.form["account_id"] == nil)
        #expect(refresh.form["grant_type"] == "refresh_token")
        profile.client.proof = .secret(.command(["x"]), .basic)
        profile.flow = .clientCredentials
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s"))
        bench.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        let request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .withoutLogin,
            variant: .primary
        )
        #expect(await bench.server.refresh(request).granted != nil)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.form["grant_type"] == "account_credentials" && sent.form["account_id"] == "7")
        #expect(sent.form["redirect_uri_hint"] == nil)
    }

    @Test func `members are kept as text, and nothing else of a response`() async throws {
        let bench = try Bench(
            profile { $0.responses.keptMembers = ["instance_url", "id", "live", "list", "gone"] }
        )
        bench.exchange.expect(
            endpoint,
            #"{"access_token":"at","instance_url":"https://x.example\u0007","id":7,"live":true,"list":[1],"more":"y"}"#
        )
        let kept = try await bench.refresh().granted?.keptMembers
        #expect(kept == ["instance_url": "https://x.example", "id": "7", "live": "true"])
    }

    @Test(
        arguments: [
            (200, "gone", FailureClass.grantDead), (400, "gone", .grantDead), (400, "Gone", .unexplained),
            (400, "unauthorized_client", .grantDead), (503, "gone", .busy), (400, "slow_down", .busy),
        ]
    )
    func `a server's own words for the end of a login end it`(
        status: Int,
        code: String,
        kind: FailureClass
    ) async throws {
        let bench = try Bench(profile { $0.loginOverCodes = ["gone", "unauthorized_client", "slow_down"] })
        bench.exchange.expect(endpoint, status: status, "{\"error\":\"\(code)\"}")
        #expect(try await bench.refresh().failure?.kind == kind)
    }
}
