// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct StandardRevocationTests {
    let address = "https://tokens.example/revoke"

    func revoke(
        _ bench: Bench,
        refreshToken: String? = "rt",
        accessToken: String? = "at",
        idToken: String? = nil,
        tokenEndpoint: String? = nil
    ) async throws -> RevocationOutcome {
        await bench.server.revoke(
            RevocationRequest(
                refreshToken: try refreshToken.map { try bench.secret($0) },
                accessToken: try accessToken.map { try bench.secret($0, .accessToken) },
                idToken: try idToken.map { try bench.secret($0, .idToken) },
                tokenEndpoint: tokenEndpoint
            )
        )
    }

    @Test(.holds("O50")) func `the refresh token is revoked first`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.always(address, .json(""))
        #expect(try await revoke(bench) == .revoked)
        #expect(
            bench.exchange.sent.map(\.form) == [
                ["token": "rt", "token_type_hint": "refresh_token", "client_id": "cli"],
                ["token": "at", "token_type_hint": "access_token", "client_id": "cli"],
            ]
        )
    }

    @Test(.holds("O13", "O49")) func `a confidential client shows its secret as at the token endpoint`()
        async throws
    {
        let bench = try Bench(.fixed(secret: .command(["x"])), commands: ScriptedCommands(prints: "s"))
        bench.exchange.always(address, .json(""))
        #expect(try await revoke(bench, accessToken: nil) == .revoked)
        #expect(
            bench.exchange.sent.first?.headers["authorization"] == "Basic " + Base64.encoded("cli:s".utf8)
        )
        #expect(bench.exchange.sent.first?.formNames == ["token", "token_type_hint", "client_id"])
    }

    /// The audiences of the assertions that were sent.
    private func audiences(_ bench: Bench) -> [JSONValue?] {
        bench.exchange.sent.map { $0.form["client_assertion"].flatMap { JWTParts($0) }?.claims["aud"] }
    }

    private func signing(
        revocation: String,
        audience: AssertionAudience = .endpoint
    ) throws -> (Bench, TemporaryFile) {
        let key = try TemporaryFile(TestKeys.ellipticJWK)
        var endpoints = FixedEndpoints(token: "https://tokens.example/token", revocation: revocation)
        endpoints.issuer = "https://id.example"
        var profile = ServerProfile(kind: .oauth2(endpoints), client: ClientIdentity("cli"))
        profile.client.proof = .keyAssertion(AssertionKey(.file(key.path), identifier: nil), audience)
        return (try Bench(profile), key)
    }

    @Test func `an assertion at a logout names the issuer, then what else the server may want`() async throws
    {
        let (bench, key) = try signing(revocation: address)
        let refusal = ScriptedExchange.Answer.json(#"{"error":"invalid_client"}"#, status: 401)
        bench.exchange.expect(address, refusal)
        for _ in 0..<3 { bench.exchange.expect(address, "") }
        #expect(try await revoke(bench) == .revoked)
        // What was accepted is known from then on.
        #expect(try await revoke(bench, accessToken: nil) == .revoked)
        let token = JSONValue.string("https://tokens.example/token")
        #expect(audiences(bench) == ["https://id.example", token, token, token])
        #expect(!key.path.isEmpty)
    }

    @Test func `the token endpoint is named at its own origin alone`() async throws {
        let elsewhere = "https://other.example/revoke"
        let (bench, key) = try signing(revocation: elsewhere)
        bench.exchange.always(elsewhere, .json(#"{"error":"invalid_client"}"#, status: 401))
        #expect(try await revoke(bench, accessToken: nil) != .revoked)
        #expect(audiences(bench) == ["https://id.example", .string(elsewhere)])
        #expect(!key.path.isEmpty)
    }

    @Test func `a configured audience is named and no other`() async throws {
        let (bench, key) = try signing(revocation: address, audience: .other("urn:x"))
        bench.exchange.always(address, .json(#"{"error":"invalid_client"}"#, status: 401))
        _ = try await revoke(bench, accessToken: nil)
        #expect(audiences(bench) == ["urn:x"])
        #expect(!key.path.isEmpty)
    }

    @Test func `a public client that is refused tries with its access token`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(address, status: 401, "")
        bench.exchange.expect(address, "")
        bench.exchange.expect(address, status: 401, "")
        bench.exchange.expect(address, "")
        #expect(try await revoke(bench) == .revoked)
        #expect(
            bench.exchange.sent.map { $0.headers["authorization"] } == [nil, "Bearer at", nil, "Bearer at"]
        )
        #expect(bench.exchange.sent.map { $0.form["token"] } == ["rt", "rt", "at", "at"])
    }

    /// As the server of the MCP SDK for Python answers where the parameter is left out.
    @Test func `a public client whose server demands a secret sends the empty one`() async throws {
        let bench = try Bench(.fixed())
        for _ in 0..<2 {
            bench.exchange.expect(address, status: 400, #"{"error":"invalid_request"}"#)
            bench.exchange.expect(address, "")
        }
        #expect(try await revoke(bench) == .revoked)
        #expect(bench.exchange.sent.map { $0.form["client_secret"] } == [nil, "", nil, ""])
        let confidential = try Bench(.fixed(secret: .command(["x"])), commands: ScriptedCommands(prints: "s"))
        confidential.exchange.expect(address, status: 400, #"{"error":"invalid_request"}"#)
        guard case .refused = try await revoke(confidential, accessToken: nil) else {
            Issue.record("asked again without its secret")
            return
        }
    }

    @Test(
        .holds("O49"),
        arguments: [
            (ScriptedExchange.Answer.json("", status: 503, headers: ["retry-after": "30"]), true),
            (.json("", status: 500), true),
            (.json("", status: 429), true), (.failure(.unreachable("x")), true),
            (.failure(.ambiguous("x")), true),
            (.json(#"{"error":"invalid_client"}"#, status: 401), false),
            (.json(#"{"error":"unauthorized_client"}"#, status: 400), false),
            (.json("", status: 400), false),
        ]
    )
    func `a failure is worth another try or not`(
        answer: ScriptedExchange.Answer,
        isWorthRetry: Bool
    ) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.always(address, answer)
        switch try await revoke(bench, accessToken: nil) {
        case .failed: #expect(isWorthRetry)
        case .refused: #expect(!isWorthRetry)
        case .revoked, .nothing, .unsupported: Issue.record("not a failure")
        }
    }

    @Test(.holds("O49"), arguments: ["invalid_grant", "invalid_token"])
    func `a token the server does not know is gone`(code: String) async throws {
        let bench = try Bench(.fixed())
        bench.exchange.always(address, .json(#"{"error":"\#(code)"}"#, status: 400))
        #expect(try await revoke(bench) == .revoked)
    }

    @Test(.holds("O49")) func `a server that revokes no refresh tokens is not said to have done so`()
        async throws
    {
        let bench = try Bench(.fixed())
        let unsupported = #"{"error":"unsupported_token_type"}"#
        bench.exchange.expect(address, status: 400, unsupported)
        bench.exchange.expect(address, "")
        guard case .unsupported(let message) = try await revoke(bench) else {
            Issue.record("something was revoked")
            return
        }
        #expect(message.hasSuffix(": it remains valid until it expires"))
        bench.exchange.expect(address, "")
        bench.exchange.expect(address, status: 400, unsupported)
        #expect(try await revoke(bench) == .revoked, "the access token changes nothing")
    }

    @Test func `trouble with the access token alone does not matter`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(address, "")
        bench.exchange.expect(address, status: 500, "")
        #expect(try await revoke(bench) == .revoked)
    }

    @Test func `a server without revocation is told nothing`() async throws {
        let profile = ServerProfile(
            kind: .oauth2(FixedEndpoints(token: "https://tokens.example/token")),
            client: ClientIdentity("cli")
        )
        let bench = try Bench(profile)
        guard case .unsupported(let message) = try await revoke(bench) else {
            Issue.record("something was revoked")
            return
        }
        #expect(
            message.contains("tokens.example:443 has no revocation_endpoint")
                || message.contains("tokens.example has no")
        )
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `without a token there is nothing to revoke`() async throws {
        let bench = try Bench(.fixed())
        #expect(try await revoke(bench, refreshToken: nil, accessToken: nil) == .nothing)
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a server that does not answer is asked no more for now`() async throws {
        let bench = try Bench(TestIssuer.profile())
        let document = TestIssuer.metadata(["end_session_endpoint": "https://id.example/tenant/logout"])
        bench.exchange.expect(TestIssuer.discoveryURL, document)
        bench.exchange.expect("https://id.example/tenant/revoke", .failure(.ambiguous("no answer in time")))
        guard case .failed = try await revoke(bench, idToken: "a.b.c") else {
            Issue.record("not to be repeated")
            return
        }
        #expect(bench.exchange.isExhausted)
    }

    @Test func `metadata that is broken today is asked for again`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json("", status: 404))
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        guard case .failed = try await revoke(bench) else {
            Issue.record("not to be repeated")
            return
        }
    }

    @Test func `the person's session at the issuer ends too`() async throws {
        let bench = try Bench(TestIssuer.profile())
        let end = "https://id.example/tenant/logout"
        let document = TestIssuer.metadata(["end_session_endpoint": .string(end)])
        bench.exchange.expect(TestIssuer.discoveryURL, document)
        bench.exchange.always("https://id.example/tenant/revoke", .json(""))
        bench.exchange.expect(end, status: 500, "")
        #expect(
            try await revoke(bench, idToken: "a.b.c", tokenEndpoint: TestIssuer.tokenEndpoint) == .revoked
        )
        #expect(bench.exchange.sent.last?.form == ["client_id": "cli", "id_token_hint": "a.b.c"])
    }

    @Test(.holds("105")) func `tokens of another issuer are not shown to this one`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
        guard
            case .refused(let failure) = try await revoke(
                bench,
                tokenEndpoint: "https://former.example/token"
            )
        else {
            Issue.record("not refused")
            return
        }
        #expect(failure.kind == .misconfigured)
        #expect(bench.exchange.sent.count == 1)
    }
}
