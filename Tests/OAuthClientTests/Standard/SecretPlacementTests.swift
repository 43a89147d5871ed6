// SPDX-License-Identifier: MIT

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
}
