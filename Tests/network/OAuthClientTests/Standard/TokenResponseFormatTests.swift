// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Token responses in the forms of servers that differ from RFC 6749.
struct TokenResponseFormatTests {
    private let endpoint = "https://tokens.example/token"

    private func outcome(
        _ body: String,
        status: Int = 200,
        _ change: (inout ServerDialect) -> Void
    ) async throws -> (RefreshOutcome, Bench) {
        var profile = ServerProfile.fixed()
        change(&profile.dialect)
        let bench = try Bench(profile)
        bench.exchange.expect(endpoint, status: status, body)
        return (try await bench.refresh(), bench)
    }

    @Test func `tokens are read from the envelope, under the server's names`() async throws {
        let body = #"""
            {"status":0,"data":{"at":"a","rt":"r","ttl":"60","rights":"x,y","sort":"Tenant","user":7},"region":"eu"}
            """#
        let (outcome, bench) = try await outcome(body) {
            $0.responses.envelope = JSONPath(["data"])
            $0.responses.names.accessToken = "at"
            $0.responses.names.refreshToken = "rt"
            $0.responses.names.expiresIn = "ttl"
            $0.responses.names.scope = "rights"
            $0.responses.names.tokenType = "sort"
            $0.responses.scopeSeparator = .comma
            $0.responses.keptMembers = ["user", "region"]
        }
        let granted = try #require(outcome.granted, "\(String(describing: outcome.failure))")
        #expect(try bench.text(granted.accessToken) == "a" && bench.text(granted.refreshToken) == "r")
        #expect(granted.lifetime == .seconds(60) && granted.scope == ["x", "y"])
        #expect(granted.serverTokenType == "Tenant" && granted.keptMembers == ["user": "7", "region": "eu"])
    }

    @Test func `a refresh token outside of the envelope is not lost`() async throws {
        let (outcome, bench) = try await outcome(#"{"body":{"access_token":"a","refresh_token":"r"}}"#) {
            $0.responses.envelope = JSONPath(["data"])
        }
        guard case .unusable(let failure, let rescued) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(failure.message.hasSuffix("the response has no object data"))
        #expect(try bench.text(rescued.refreshToken) == "r")
    }

    /// Responses to a refresh whose new refresh token must not be lost, though they cannot be used.
    @Test(
        arguments: [
            #"{"code":0,"result":{"access_token":"a","refresh_token":"r"}}"#,
            #"{"code":0,"data":{"refresh_token":"r"}}"#,
            #"{"data":{"access_token":"a","refresh_token":"r"}}"#,
            #"{"code":7,"data":{"access_token":"a","refresh_token":"r"}}"#,
        ]
    )
    func `a new refresh token is kept, whatever a code says`(body: String) async throws {
        let (outcome, bench) = try await outcome(body) {
            $0.responses.envelope = JSONPath(["data"])
            $0.responses.errorCode = JSONPath(["code"])
            $0.responses.success = JSONPath(["code"]).map { TokenResponseFormat.SuccessMark($0, "0") }
        }
        guard case .unusable(_, let rescued) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try bench.text(rescued.refreshToken) == "r")
    }

    @Test func `tokens in an envelope are granted, though there is an error outside of it`() async throws {
        let body = #"{"data":{"access_token":"a"},"error":{"code":"ok"}}"#
        let (outcome, _) = try await outcome(body) {
            $0.responses.envelope = JSONPath(["data"])
            $0.responses.success = JSONPath(["error", "code"]).map {
                TokenResponseFormat.SuccessMark($0, "\"ok\"")
            }
        }
        #expect(outcome.granted != nil, "\(outcome)")
    }

    @Test func `a gateway's response lacks the mark, and ends nothing`() async throws {
        let (outcome, _) = try await outcome(#"{"message":"Forbidden"}"#, status: 403) {
            $0.responses.success = JSONPath(["ok"]).map { TokenResponseFormat.SuccessMark($0, "true") }
        }
        #expect(outcome.failure?.kind == .busy)
    }

    @Test func `a standard code counts more than a number that nobody knows`() async throws {
        let body = #"{"error":"invalid_grant","code":20014}"#
        for (known, kind, code) in [
            ([], FailureClass.grantDead, "invalid_grant"), (["20014"], .grantDead, "20014"),
        ] {
            let (outcome, _) = try await outcome(body, status: 400) {
                $0.responses.errorCode = JSONPath(["code"])
                $0.loginOverCodes = known
            }
            #expect(outcome.failure?.kind == kind && outcome.failure?.code == code)
        }
    }

    @Test func `an imported refresh token is renewed as at a refresh`() async throws {
        var profile = ServerProfile.fixed(scopes: [])
        profile.dialect.responses.loginEnvelope = JSONPath(["authed_user"])
        profile.dialect.refreshEndpoint = "https://tokens.example/refresh"
        let bench = try Bench(profile)
        bench.exchange.expect("https://tokens.example/refresh", #"{"access_token":"a","refresh_token":"r"}"#)
        let outcome = await bench.server.logIn(
            LoginRequest(flow: .import, secret: try bench.secret("old")),
            conversation: ScriptedPerson(memory: bench.memory)
        )
        #expect(try bench.text(outcome.granted?.tokens.refreshToken) == "r", "\(outcome)")
    }

    @Test func `the login's response may have another envelope`() async throws {
        var profile = ServerProfile.fixed(scopes: [])
        profile.flow = .clientCredentials
        profile.client.proof = .secret(.command(["x"]), .post)
        profile.dialect.responses.loginEnvelope = JSONPath(["authed_user"])
        let bench = try Bench(profile, commands: ScriptedCommands(prints: "s"))
        bench.exchange.expect(endpoint, #"{"authed_user":{"access_token":"a"}}"#)
        let outcome = await bench.server.logIn(
            LoginRequest(flow: .clientCredentials),
            conversation: ScriptedPerson(memory: bench.memory)
        )
        #expect(outcome.granted != nil)
    }

    /// Responses, and the code and class of the failure.
    @Test(
        arguments: [
            (200, #"{"status":0,"error":{"code":190,"message":"gone"}}"#, "190", FailureClass.grantDead),
            (400, #"{"error":{"code":190,"message":"gone"}}"#, "190", .grantDead),
            (400, #"{"error":{"code":"191"}}"#, "191", .unexplained),
            (400, #"{"error":"invalid_grant"}"#, "invalid_grant", .grantDead),
            (200, #"{"status":401,"body":{},"error":{"code":190}}"#, "190", .grantDead),
            (200, #"{"status":601,"body":{}}"#, "601", .unexplained),
            (200, #"{"status":"0","access_token":"at"}"#, "0", .unexplained),
            (200, #"{"access_token":"at"}"#, "unsuccessful", .unexplained),
            (503, #"{"status":1,"error":{"code":190}}"#, "190", .busy),
        ] as [(Int, String, String, FailureClass)]
    )
    func `a refusal is read where the server tells it`(
        status: Int,
        body: String,
        code: String,
        kind: FailureClass
    ) async throws {
        let (outcome, _) = try await outcome(body, status: status) {
            $0.responses.errorCode = JSONPath(["error", "code"])
            $0.responses.success = JSONPath(["status"]).map { TokenResponseFormat.SuccessMark($0, "0") }
            $0.loginOverCodes = ["190"]
        }
        let failure = try #require(outcome.failure)
        #expect(failure.kind == kind && failure.code == code, "\(failure)")
    }

    @Test func `a success with an error code of zero has tokens`() async throws {
        let (outcome, _) = try await outcome(#"{"errcode":0,"access_token":"at"}"#) {
            $0.responses.errorCode = JSONPath(["errcode"])
        }
        #expect(outcome.granted != nil)
    }

    /// Lifetimes as stated, and as they are understood.
    @Test(
        arguments: [
            (#","expires_in":0"#, nil), (#","expires_in":"0""#, nil), ("", .seconds(3600)),
            (#","expires_in":60"#, .seconds(60)), (#","expires_in":-1"#, .seconds(3600)),
        ] as [(String, Duration?)]
    )
    func `zero may mean never, and a lifetime may be assumed`(
        member: String,
        lifetime: Duration?
    ) async throws {
        let (outcome, _) = try await outcome(#"{"access_token":"at"\#(member)}"#) {
            $0.responses.zeroMeansNever = true
            $0.responses.assumedLifetime = .seconds(3600)
        }
        let granted = try #require(outcome.granted)
        #expect(granted.lifetime == lifetime)
        #expect(granted.remarks.isEmpty == !member.contains("-1"))
    }
}
