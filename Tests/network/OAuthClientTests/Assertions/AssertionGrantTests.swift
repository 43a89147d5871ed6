// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Tokens for assertions (RFC 7523 §2.1).
struct AssertionGrantTests {
    static let endpoint = "https://tokens.example/token"
    static let answer = #"{"access_token":"at-1","token_type":"Bearer","expires_in":60}"#

    /// A session that shows assertions, at endpoints by hand.
    static func profile(
        _ source: AssertionGrant.Source,
        claims: JSONObject = JSONObject(),
        client: String = "cli",
        at endpoint: String = endpoint
    ) -> ServerProfile {
        var profile = ServerProfile.fixed()
        profile.kind = .oauth2(FixedEndpoints(token: endpoint))
        profile.client.id = client
        profile.flow = .jwtBearer
        profile.grant = .assertion(AssertionGrant(source, claims: claims))
        return profile
    }

    static func refresh(
        _ bench: Bench,
        source: String? = nil,
        variant: TokenVariant = .primary,
        tokenEndpoint: String? = nil
    ) async throws -> RefreshOutcome {
        var request = RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: .withoutLogin,
            variant: variant,
            tokenEndpoint: tokenEndpoint
        )
        request.sources.subject = try source.map { try bench.secret($0, .accessToken) }
        return await bench.server.refresh(request)
    }

    /// The assertions that were sent, in their order.
    static func sent(_ bench: Bench) throws -> [JWTParts] {
        try bench.exchange.sent.filter { $0.method == "POST" }.map { sent in
            #expect(sent.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
            #expect(sent.formNames.count == Set(sent.formNames).count)
            return try #require(JWTParts(sent.form["assertion"] ?? ""))
        }
    }

    private static func signing(_ key: TemporaryFile, as identifier: String? = nil) -> AssertionGrant.Source {
        .signed(AssertionKey(.file(key.path), identifier: identifier))
    }

    @Test func `a key signs an assertion for each request`() async throws {
        let key = try TemporaryFile(TestKeys.ellipticJWK)
        let claims: JSONObject = ["sub": "alice@example.com", "groups": ["a", "b"]]
        let bench = try Bench(Self.profile(Self.signing(key), claims: claims))
        bench.exchange.always(Self.endpoint, .json(Self.answer))
        for _ in 0..<2 {
            let granted = try #require(try await Self.refresh(bench).granted)
            #expect(granted.scope == ["api"] && granted.refreshToken == nil)
        }
        let now = bench.clock.wallTime.secondsSince1970
        let sent = try Self.sent(bench)
        for assertion in sent {
            #expect(SignatureAlgorithm.es256.verify(assertion, with: .rfc7515Curve))
            #expect(assertion.header == ["alg": "ES256", "typ": "JWT"])
            #expect(assertion.claims["iss"] == "cli" && assertion.claims["sub"] == "alice@example.com")
            #expect(assertion.claims["aud"] == .string(Self.endpoint))
            #expect(assertion.claims["groups"] == ["a", "b"])
            #expect(assertion.claims["iat"] == .integer(now) && assertion.claims["exp"] == .integer(now + 60))
        }
        #expect(Set(sent.compactMap { $0.claims["jti"]?.string }).count == 2)
        let form = bench.exchange.sent.last?.form
        #expect(form?["client_id"] == "cli" && form?["scope"] == "api")
    }

    @Test func `claims that are written take the place of ours`() async throws {
        let key = try TemporaryFile(TestKeys.edwardsJWK)
        let claims: JSONObject = ["iss": "me", "aud": "https://other.example"]
        let bench = try Bench(Self.profile(Self.signing(key, as: "k1"), claims: claims, client: ""))
        bench.exchange.expect(Self.endpoint, Self.answer)
        #expect(try await Self.refresh(bench).granted != nil)
        let assertion = try #require(try Self.sent(bench).first)
        #expect(assertion.claims["iss"] == "me" && assertion.claims["sub"] == "me")
        #expect(assertion.claims["aud"] == "https://other.example")
        #expect(assertion.header["kid"] == "k1")
        #expect(bench.exchange.sent.last?.form["client_id"] == nil)
    }

    @Test func `a client proves itself beside the assertion`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        var profile = Self.profile(Self.signing(key))
        profile.client.proof = .keyAssertion(AssertionKey(.file(key.path)), .endpoint)
        let bench = try Bench(profile)
        bench.exchange.expect(Self.endpoint, Self.answer)
        #expect(try await Self.refresh(bench).granted != nil)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.form["client_assertion"] != sent.form["assertion"])
        #expect(JWTParts(sent.form["client_assertion"] ?? "")?.claims["aud"] == .string(Self.endpoint))
    }

    @Test(.holds("189")) func `a grant that is sent again has another assertion`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        var profile = Self.profile(Self.signing(key))
        profile.bindsTokens = true
        let bench = try Bench(profile)
        let nonce = #"{"error":"use_dpop_nonce"}"#
        bench.exchange.expect(Self.endpoint, status: 400, nonce, headers: ["dpop-nonce": "n"])
        bench.exchange.expect(Self.endpoint, #"{"access_token":"at","token_type":"DPoP"}"#)
        #expect(try await Self.refresh(bench).granted != nil)
        #expect(Set(try Self.sent(bench).compactMap { $0.claims["jti"]?.string }).count == 2)
    }

    @Test func `a clock that is wrong costs one request, and another day is not believed`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        let refusal = #"{"error":"invalid_grant"}"#
        // It is 8 o'clock here.
        for (date, offset) in [
            ("Fri, 15 Jan 2027 08:10:00 GMT", 600), ("Fri, 15 Jan 2027 07:50:00 GMT", -600),
            ("Fri, 15 Jan 2027 08:00:10 GMT", nil), ("Mon, 25 Jan 2027 08:00:00 GMT", nil),
        ] as [(String, Int64?)] {
            let bench = try Bench(Self.profile(Self.signing(key)))
            bench.exchange.expect(Self.endpoint, status: 400, refusal, headers: ["date": date])
            if offset != nil { bench.exchange.expect(Self.endpoint, Self.answer) }
            #expect(try await (Self.refresh(bench).granted != nil) == (offset != nil))
            let times = try Self.sent(bench).compactMap { $0.claims["iat"]?.integer }
            let now = bench.clock.wallTime.secondsSince1970
            #expect(times == [now] + (offset.map { [now + $0] } ?? []))
        }
    }

    @Test(.holds("189")) func `an assertion names the place that an endpoint has moved to`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        let moved = "https://id.example/tenant/v2/token"
        var profile = TestIssuer.profile()
        profile.flow = .jwtBearer
        profile.grant = .assertion(AssertionGrant(Self.signing(key)))
        let bench = try Bench(profile)
        bench.exchange.expect(TestIssuer.tokenEndpoint, status: 404, "")
        bench.exchange.expect(
            TestIssuer.discoveryURL,
            TestIssuer.metadata(["token_endpoint": .string(moved)])
        )
        bench.exchange.expect(moved, Self.answer)
        #expect(try await Self.refresh(bench, tokenEndpoint: TestIssuer.tokenEndpoint).granted != nil)
        let audiences = try Self.sent(bench).map { $0.claims["aud"]?.string }
        #expect(audiences == [TestIssuer.tokenEndpoint, moved])
    }

    @Test func `an endpoint that a person has written since is where the next one goes`() async throws {
        let key = try TemporaryFile(TestKeys.edwards)
        let bench = try Bench(Self.profile(Self.signing(key)))
        bench.exchange.expect(Self.endpoint, Self.answer)
        let outcome = try await Self.refresh(bench, tokenEndpoint: "https://old.example/token")
        #expect(outcome.granted?.origin?.tokenEndpoint == Self.endpoint)
    }

    @Test func `a ready assertion is read for each request`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("assertion")
        let bench = try Bench(Self.profile(.file(path)))
        bench.exchange.always(Self.endpoint, .json(Self.answer))
        for text in ["a.b.1", "a.b.2"] {
            try directory.write(text + "\n", to: "assertion", mode: 0o600)
            #expect(try await Self.refresh(bench).granted != nil)
            #expect(bench.exchange.sent.last?.form["assertion"] == text)
        }
        let printing = try Bench(
            Self.profile(.command(["svid"])),
            commands: ScriptedCommands(prints: "a.b.3\n")
        )
        printing.exchange.always(Self.endpoint, .json(Self.answer))
        for _ in 0..<2 { #expect(try await Self.refresh(printing).granted != nil) }
        #expect(printing.exchange.sent.last?.form["assertion"] == "a.b.3")
        #expect(printing.commands.commands == [["svid"], ["svid"]])
    }

    @Test func `the token of another session may be the assertion`() async throws {
        let bench = try Bench(Self.profile(.session))
        bench.exchange.expect(Self.endpoint, Self.answer)
        #expect(try await Self.refresh(bench, source: "jag-1").granted != nil)
        #expect(bench.exchange.sent.first?.form["assertion"] == "jag-1")
        #expect(try await Self.refresh(bench).failure?.kind == .sourceUnavailable)
        #expect(bench.exchange.sent.count == 1)
    }

    @Test func `a key that a command prints is kept until no token is to be had with it`() async throws {
        let commands = ScriptedCommands(prints: TestKeys.edwards)
        let bench = try Bench(Self.profile(.signed(AssertionKey(.command(["pass"])))), commands: commands)
        for (code, status) in [("", 200), ("", 200), ("invalid_grant", 400), ("", 200)] {
            let body = status == 200 ? Self.answer : #"{"error":"\#(code)"}"#
            bench.exchange.expect(Self.endpoint, status: status, body)
            #expect(try await (Self.refresh(bench).granted != nil) == (status == 200))
        }
        #expect(commands.commands == [["pass"], ["pass"]])
    }

    /// The file of a key, and what is wrong with it.
    @Test(
        .holds("189"),
        arguments: [
            (TestKeys.encryptedPKCS8, 0o600, "is encrypted", "assertion_key_command to a command"),
            (TestKeys.p384, 0o600, "P-256", "assertion_key_file to an RSA"),
            (TestKeys.edwards, 0o644, "is readable by other users", "chmod 600"),
            (TestKeys.edwards, 0o620, "is writable by other users", "chmod go-w"),
            ("x", 0o600, "contains neither PEM nor a JWK", nil),
        ] as [(String, UInt32, String, String?)]
    )
    func `an assertion's key that cannot be used is named, and nothing is sent`(
        text: String,
        mode: UInt32,
        words: String,
        remedy: String?
    ) async throws {
        let key = try TemporaryFile(text, mode: mode)
        let bench = try Bench(Self.profile(Self.signing(key)))
        let failure = try #require(try await Self.refresh(bench).failure)
        #expect(failure.kind == (words == "is encrypted" ? .misconfigured : .helperFailed))
        #expect(failure.message.hasPrefix("assertion_key_file \(key.path): "))
        #expect(failure.message.contains(words), "\(failure)")
        #expect(
            remedy.map { failure.remedy?.text.hasPrefix($0) == true } ?? (failure.remedy == nil),
            "\(failure)"
        )
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `an assertion that is not there costs nothing, and a directory is none`() async throws {
        let directory = try TemporaryDirectory()
        for (path, words) in [
            (directory.path("missing"), "No such file or directory"),
            (directory.path("."), "is a directory, not a file"),
        ] {
            let bench = try Bench(Self.profile(.file(path)))
            let failure = try #require(try await Self.refresh(bench).failure)
            #expect(failure.kind == .helperFailed && failure.message == "assertion_file \(path): \(words)")
            #expect(bench.exchange.sent.isEmpty)
        }
        let bench = try Bench(Self.profile(.command(["svid"])), commands: ScriptedCommands(status: 3))
        let failure = try #require(try await Self.refresh(bench).failure)
        #expect(failure.kind == .helperFailed)
        #expect(failure.message == "assertion_command: svid: exit status 3")
        #expect(bench.exchange.sent.isEmpty)
    }
}
