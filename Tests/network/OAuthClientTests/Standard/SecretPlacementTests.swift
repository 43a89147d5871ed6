// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import TokenCore

@testable import OAuthClient

/// Where a client secret goes, which servers do not agree about.
struct SecretPlacementTests {
    private let endpoint = "https://tokens.example/token"

    private func confidential(_ method: ClientSecretMethod) throws -> Bench {
        var profile = ServerProfile.fixed()
        profile.client.proof = .secret(.command(["x"]), method)
        return try Bench(profile, commands: ScriptedCommands(prints: "s"))
    }

    @Test func `a secret that a server does not take by Basic is shown in the body, and that is remembered`()
        async throws
    {
        let bench = try confidential(.automatic)
        bench.exchange.expect(endpoint, status: 401, #"{"error":"invalid_client"}"#)
        for _ in 0..<2 { bench.exchange.expect(endpoint, #"{"access_token":"at"}"#) }
        let granted = try #require(try await bench.refresh().granted)
        #expect(granted.remarks.map(\.kind) == [.clientSecretInBody])
        #expect(try await bench.refresh().granted != nil)
        #expect(bench.exchange.sent.map { $0.headers["authorization"] != nil } == [true, false, false])
        #expect(bench.exchange.sent.map { $0.form["client_secret"] } == [nil, "s", "s"])
    }

    @Test func `a secret that works by Basic is never shown in a body`() async throws {
        let bench = try confidential(.automatic)
        bench.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        #expect(try await bench.refresh().granted != nil)
        bench.exchange.expect(endpoint, status: 401, #"{"error":"invalid_client"}"#)
        #expect(try await bench.refresh().failure?.code == "invalid_client")
        #expect(bench.exchange.sent.allSatisfy { $0.form["client_secret"] == nil })
    }

    @Test(arguments: [ClientSecretMethod.basic, .post])
    func `a way that is written down is the only one`(method: ClientSecretMethod) async throws {
        let bench = try confidential(method)
        bench.exchange.expect(endpoint, status: 401, #"{"error":"invalid_client"}"#)
        #expect(try await bench.refresh().failure?.code == "invalid_client")
        #expect(bench.exchange.sent.count == 1)
    }

    /// Responses to the secret in the body, after the server has rejected Basic, and which one counts.
    @Test(
        arguments: [
            (.json(#"{"error":"invalid_grant"}"#, status: 400), .grantDead),
            (.json(#"{"error":"invalid_client"}"#, status: 400), .clientRejected),
            (.json("", status: 503), .busy), (.failure(.ambiguous("x")), .ambiguous),
            (.json(#"{"error":"x_gone"}"#), .unexplained),
        ] as [(ScriptedExchange.Answer, FailureClass)]
    )
    func `what the server says to the second way counts if it got further`(
        answer: ScriptedExchange.Answer,
        kind: FailureClass
    ) async throws {
        let bench = try confidential(.automatic)
        bench.exchange.expect(endpoint, status: 401, #"{"error":"invalid_client"}"#)
        bench.exchange.expect(endpoint, answer)
        #expect(try await bench.refresh().failure?.kind == kind)
        // Nothing is known yet, so both ways are tried again.
        bench.exchange.expect(endpoint, status: 401, #"{"error":"invalid_client"}"#)
        bench.exchange.expect(endpoint, #"{"access_token":"at"}"#)
        #expect(try await bench.refresh().granted != nil)
        #expect(bench.exchange.sent.map { $0.form["client_secret"] } == [nil, "s", nil, "s"])
        #expect(bench.exchange.sent.allSatisfy { $0.form["refresh_token"] == "rt-1" })
    }

    /// Answers to Basic that do not say that the client is rejected.
    @Test(arguments: [
        ScriptedExchange.Answer.json(#"{"error":"invalid_grant"}"#, status: 401), .json("", status: 401),
        .json(#"{"error":"unauthorized_client"}"#, status: 400), .json("", status: 500),
        .json(#"{"error":"Invalid_Client"}"#, status: 401), .failure(.unreachable("x")),
    ])
    func `a secret is shown in no body for another reason`(answer: ScriptedExchange.Answer) async throws {
        let bench = try confidential(.automatic)
        bench.exchange.expect(endpoint, answer)
        #expect(try await bench.refresh().failure != nil)
        #expect(bench.exchange.sent.map { $0.form["client_secret"] } == [nil])
    }
}
