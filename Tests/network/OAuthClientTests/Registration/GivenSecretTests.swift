// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

/// Secrets of clients that people have registered, kept beside those of registered clients.
struct GivenSecretTests {
    private static let work = SessionName("work")
    private static let token = "https://tokens.example/token"

    private func profile(_ change: (inout ServerProfile) -> Void = { _ in }) throws -> ServerProfile {
        var profile = ServerProfile.fixed(secret: .given(to: try #require(Self.work)))
        change(&profile)
        return profile
    }

    /// Gives `secret` to the session of `bench`.
    private func give(_ secret: String, _ bench: Bench) async throws {
        let purpose = try #require(bench.server.profile.givenSecret)
        let sealed = try bench.secret(secret, .clientSecret)
        try await bench.server.tools.registrar.keep(
            given: sealed,
            for: purpose,
            of: bench.server.profile.client.id
        )
    }

    @Test(.holds("204")) func `the newest that was given is shown, and those before are gone`() async throws {
        let work = try #require(Self.work)
        let bench = try Bench(profile { $0.client.proof = .secret(.given(to: work), .post) })
        bench.exchange.always(Self.token, .json(#"{"access_token":"at","expires_in":60}"#))
        for secret in ["first", "second"] {
            try await give(secret, bench)
            #expect(try await bench.refresh().granted != nil)
        }
        #expect(bench.exchange.sent.map { $0.form["client_secret"] } == ["first", "second"])
        #expect(await bench.server.tools.registrar.store.registrations().count == 1)
    }

    @Test(.holds("204")) func `a refused secret stays until there is another one`() async throws {
        let bench = try Bench(profile())
        try await give("s", bench)
        bench.exchange.always(Self.token, .json(#"{"error":"invalid_client"}"#, status: 401))
        for _ in 0..<2 { #expect(try await bench.refresh().failure?.code == "invalid_client") }
        // By Basic, and in the body.
        #expect(bench.exchange.sent.count == 4)
    }

    @Test(.holds("204")) func `a secret that is rejected does not cost the one before it`() async throws {
        let work = try #require(Self.work)
        let bench = try Bench(profile { $0.client.proof = .secret(.given(to: work), .post) })
        let good = ScriptedExchange.Answer.json(#"{"access_token":"at","expires_in":60}"#)
        let refusal = ScriptedExchange.Answer.json(#"{"error":"invalid_client"}"#, status: 401)
        try await give("right", bench)
        bench.exchange.expect(Self.token, good)
        #expect(try await bench.refresh().granted != nil)
        for wrong in ["wrong", "worse"] {
            try await give(wrong, bench)
            bench.exchange.expect(Self.token, refusal)
            #expect(try await bench.refresh().failure?.code == "invalid_client")
        }
        bench.exchange.expect(Self.token, good)
        #expect(try await bench.refresh().granted != nil)
        #expect(bench.exchange.sent.map { $0.form["client_secret"] } == ["right", "wrong", "worse", "right"])
        // What was wrong is forgotten once the other has worked.
        #expect(await bench.server.tools.registrar.store.registrations().count == 1)
    }

    @Test(.holds("204")) func `without one nothing is sent, and the command is named`() async throws {
        let bench = try Bench(profile())
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == .misconfigured)
        #expect(failure.message == "client_secret_sealed: the store has no secret for this client")
        #expect(failure.remedy == .run("tokenctl login work --client-secret-stdin"))
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test(.holds("204")) func `one that is given is of no other client, server or session`() async throws {
        let bench = try Bench(profile())
        try await give("s", bench)
        let registrar = bench.server.tools.registrar
        let purpose = try #require(bench.server.profile.givenSecret)
        #expect(await registrar.givenSecret(for: purpose, of: "cli") != nil)
        #expect(await registrar.givenSecret(for: purpose, of: "other") == nil)
        let home = try #require(SessionName("home"))
        let others = [
            try profile { $0.kind = .oidc(issuer: "https://tokens.example") },
            try profile { $0.client.proof = .secret(.given(to: home), .automatic) },
        ]
        for other in others {
            let purpose = try #require(other.givenSecret)
            #expect(await registrar.givenSecret(for: purpose, of: "cli") == nil)
        }
        // Nor is it the client of a session that has none.
        #expect(await registrar.registration(of: "cli", at: purpose.issuer) == nil)
        await registrar.forgetSecrets(givenTo: home)
        #expect(await registrar.givenSecret(for: purpose, of: "cli") != nil)
        await registrar.forgetSecrets(givenTo: try #require(Self.work))
        #expect(await registrar.givenSecret(for: purpose, of: "cli") == nil)
    }
}
