// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Tokens bound to a key (RFC 9449).
struct ProofTests {
    let token = "https://tokens.example/token"
    let bound = #"{"access_token":"at","token_type":"DPoP","refresh_token":"rt"}"#

    private func profile() -> ServerProfile {
        var profile = ServerProfile.fixed()
        profile.bindsTokens = true
        return profile
    }

    private func logIn(_ bench: Bench) async throws -> LoginOutcome {
        let secret = try bench.secret("pw", .password)
        let request = LoginRequest(flow: .password, username: "alice", secret: secret)
        return await bench.server.logIn(request, conversation: ScriptedPerson(memory: bench.memory))
    }

    private func refresh(_ bench: Bench, _ grant: LoginGrant) async -> RefreshOutcome {
        await bench.server.refresh(
            RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: grant.renewal,
                variant: .primary,
                tokenEndpoint: grant.tokenEndpoint,
                proofKey: grant.proofKey
            )
        )
    }

    private func proofs(_ bench: Bench) -> [ReadProof] {
        bench.exchange.posts(to: token).compactMap { ReadProof($0.headers["dpop"]) }
    }

    private func keys(in bench: Bench) -> Int {
        (1...40).count { bench.memory.kind(of: SecretID(rawValue: $0)) == .proofKey }
    }

    @Test(.holds("102", "O53")) func `a login proves the key that its tokens are bound to`() async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, bound)
        let grant = try #require(try await logIn(bench).granted)
        let proof = try #require(proofs(bench).first)
        #expect(proof.isSigned)
        #expect(proof.header["typ"] == "dpop+jwt" && proof.header["alg"] == "ES256")
        #expect(Set(proof.jwk.members.map(\.name)) == ["kty", "crv", "x", "y"])
        #expect(proof.claims["htm"] == "POST")
        #expect(proof.claims["htu"] == .string(token))
        #expect(proof.claims["iat"] == .integer(bench.clock.wallTime.secondsSince1970))
        #expect(proof.claims["nonce"] == nil && proof.claims["ath"] == nil)
        #expect(grant.tokens.tokenType == "DPoP")
        #expect(keys(in: bench) == 1)
    }

    @Test(.holds("O53")) func `a refresh proves the same key with another proof`() async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, bound)
        let grant = try #require(try await logIn(bench).granted)
        bench.exchange.expect(token, bound)
        #expect(await refresh(bench, grant).granted != nil)
        let proofs = proofs(bench)
        #expect(proofs.count == 2)
        #expect(proofs[0].jwk == proofs[1].jwk)
        #expect(proofs[0].claims["jti"] != proofs[1].claims["jti"])
        #expect(proofs.allSatisfy { $0.isSigned })
    }

    @Test func `each login has a key of its own`() async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, bound)
        bench.exchange.expect(token, bound)
        _ = try await logIn(bench)
        _ = try await logIn(bench)
        #expect(proofs(bench)[0].jwk != proofs(bench)[1].jwk)
    }

    @Test(.holds("O53")) func `no two proofs have the same name`() throws {
        let bench = try Bench(profile())
        let maker = ProofMaker(key: try ProofKey.make(in: bench.memory), memory: bench.memory)
        let tokenRequest = ProofRequest(method: "GET", target: "https://api.example/")
        let count = TestEnvironment.isFull ? 100_000 : 500
        var names: Set<String> = []
        for _ in 0..<count {
            let proof = try maker.proof(for: tokenRequest, at: bench.clock.wallTime)
            names.insert(try #require(JWTParts(proof)?.claims["jti"]?.string))
        }
        #expect(names.count == count)
        Attachment.record("\(count) proofs, \(names.count) names", named: "figure")
    }

    @Test(.holds("O54")) func `a nonce that is demanded comes with the second request`() async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(
            token,
            status: 400,
            #"{"error":"use_dpop_nonce"}"#,
            headers: ["dpop-nonce": "n-1"]
        )
        bench.exchange.expect(token, bound, headers: ["dpop-nonce": "n-2"])
        let grant = try #require(try await logIn(bench).granted)
        #expect(proofs(bench).map { $0.claims["nonce"]?.string } == [nil, "n-1"])
        // The form is the same, credentials not twice.
        let sent = bench.exchange.posts(to: token)
        #expect(sent[0].formNames == sent[1].formNames)
        // The newest one, from the good answer, goes with the next request.
        bench.exchange.expect(token, bound)
        #expect(await refresh(bench, grant).granted != nil)
        #expect(proofs(bench).last?.claims["nonce"] == "n-2")
    }

    @Test(.holds("102", "O54"), arguments: ["use_dpop_nonce", "invalid_dpop_proof"])
    func `a server that is never satisfied gets two requests`(code: String) async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, bound)
        let grant = try #require(try await logIn(bench).granted)
        let refusal = #"{"error":"\#(code)"}"#
        bench.exchange.always(token, .json(refusal, status: 400, headers: ["dpop-nonce": "again"]))
        let failure = try #require(await refresh(bench, grant).failure)
        #expect(bench.exchange.posts(to: token).count == 3)
        // The refresh token is kept, and tried again later.
        #expect(failure.kind == .busy)
        Attachment.record("2 requests", named: "figure")
    }

    @Test(.holds("102")) func `without a nonce to use nothing is sent again`() async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, status: 400, #"{"error":"use_dpop_nonce"}"#)
        #expect(try await logIn(bench).failure?.kind == .busy)
        #expect(bench.exchange.isExhausted)
    }

    @Test func `a refused proof is made anew by the server's clock`() async throws {
        let bench = try Bench(profile())
        let date = "Tue, 01 Jan 2030 00:00:00 GMT"
        bench.exchange.expect(token, status: 400, #"{"error":"invalid_dpop_proof"}"#, headers: ["date": date])
        bench.exchange.expect(token, bound)
        #expect(try await logIn(bench).granted != nil)
        #expect(proofs(bench).last?.claims["iat"]?.integer == 1_893_456_000)
    }

    @Test(.holds("O55")) func `a token that anybody could use is not used`() async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, #"{"access_token":"at","token_type":"Bearer"}"#)
        let failure = try #require(try await logIn(bench).failure)
        #expect(failure.kind == .misconfigured)
        #expect(failure.remedy?.text.contains("dpop = false") == true)
        #expect(failure.message.contains("token_type in the response is Bearer, not DPoP"))
        // Nor is the key of the login that came to nothing kept.
        #expect(keys(in: bench) == 0)
    }

    @Test(.holds("O55")) func `a refresh that brings a token for anybody is not used`() async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, bound)
        let grant = try #require(try await logIn(bench).granted)
        bench.exchange.expect(token, #"{"access_token":"at-2","token_type":"bearer"}"#)
        #expect(await refresh(bench, grant).failure?.kind == .misconfigured)
    }

    /// The rest of an answer of type Bearer, and the refresh token that is kept of it.
    @Test(
        .holds("O22"),
        arguments: [
            (#""refresh_token":"rt-2","refresh_expires_in":600"#, "rt-2"), (#""refresh_token":"rt""#, nil),
            (#""refresh_token":null"#, nil),
        ] as [(String, String?)]
    )
    func `the refresh token of an answer that cannot be used is kept`(
        rest: String,
        kept: String?
    ) async throws {
        let bench = try Bench(profile())
        bench.exchange.expect(token, bound)
        let grant = try #require(try await logIn(bench).granted)
        bench.exchange.expect(token, #"{"access_token":"at-2","token_type":"Bearer",\#(rest)}"#)
        let outcome = await refresh(bench, grant)
        #expect(try bench.text(outcome.saved?.refreshToken) == kept)
        #expect(outcome.saved?.refreshLifetime == (kept == nil ? nil : RefreshLifetime(.seconds(600))))
        #expect(outcome.failure?.message.contains("not DPoP") == true)
    }

    @Test(.holds("O55")) func `a bound token where none was asked for is not used`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(token, bound)
        let failure = try #require(try await logIn(bench).failure)
        #expect(failure.kind == .misconfigured)
        #expect(failure.remedy == .set("dpop = true"))
        #expect(bench.exchange.sent.first?.headers["dpop"] == nil)
    }

    @Test(.holds("O54")) func `where no proof is sent a demand for one is the configuration's fault`()
        async throws
    {
        let bench = try Bench(.fixed())
        bench.exchange.expect(token, status: 400, #"{"error":"invalid_dpop_proof"}"#)
        #expect(try await logIn(bench).failure?.kind == .misconfigured)
    }

    @Test(.holds("102")) func `a proof for a resource names the token it goes with`() throws {
        let bench = try Bench(profile())
        let key = try ProofKey.make(in: bench.memory)
        let token = try bench.secret("the-token", .accessToken)
        let tokenRequest = ProofRequest(method: "PUT", target: "https://api.example/a", nonce: "n")
        let maker = ProofMaker(key: key, memory: bench.memory)
        let proof = try #require(
            ReadProof(try maker.proof(for: tokenRequest, at: bench.clock.wallTime, showing: token))
        )
        #expect(proof.isSigned)
        #expect(proof.claims["htm"] == "PUT" && proof.claims["htu"] == "https://api.example/a")
        #expect(proof.claims["ath"] == .string(ReadProof.digest("the-token")))
        #expect(proof.claims["nonce"] == "n")
    }

    @Test func `a locked memory makes no proof`() throws {
        let bench = try Bench(profile())
        let maker = ProofMaker(key: try ProofKey.make(in: bench.memory), memory: bench.memory)
        bench.memory.lock()
        #expect(throws: RefreshFailure.self) {
            try maker.proof(
                for: ProofRequest(method: "GET", target: "https://a.example/"),
                at: bench.clock.wallTime
            )
        }
    }

    @Test(.holds("O53")) func `a query is not part of what a proof is for`() throws {
        #expect(try EndpointURL("https://id.example/t?a=b").proofTarget == "https://id.example/t")
        #expect(try EndpointURL("https://id.example/t").proofTarget == "https://id.example/t")
    }

    /// The key and thumbprint of RFC 9449 §4.1 and §6.1.
    @Test func `a key is named by the thumbprint of its public half`() {
        let x = "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"
        let y = "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"
        #expect(ProofKey.thumbprint(x: x, y: y) == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    }

    @Test(arguments: [("ES256", true), ("RS256", false)])
    func `a server whose proofs we cannot make is not asked`(algorithm: String, isAsked: Bool) async throws {
        var profile = TestIssuer.profile()
        profile.bindsTokens = true
        let bench = try Bench(profile)
        let metadata = TestIssuer.metadata(["dpop_signing_alg_values_supported": .strings([algorithm])])
        bench.exchange.always(TestIssuer.discoveryURL, .json(metadata))
        bench.exchange.always(TestIssuer.tokenEndpoint, .json(bound))
        let outcome = try await logIn(bench)
        #expect((outcome.granted != nil) == isAsked)
        #expect(isAsked || outcome.failure?.kind == .misconfigured)
        #expect(bench.exchange.posts(to: TestIssuer.tokenEndpoint).isEmpty != isAsked)
    }
}
