// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Tokens of Google's service accounts, after "Using OAuth 2.0 for Server to Server Applications".
struct ServiceAccountGrantTests {
    private static let google = AssertionGrant.serviceAccountEndpoint
    private static let email = "robot@project.iam.gserviceaccount.com"

    /// The file that Google gives out, with `changes`; `null` removes a member.
    private static func file(_ changes: JSONObject = [:]) throws -> TemporaryFile {
        var object: JSONObject = [
            "type": "service_account", "client_email": .string(email), "private_key_id": "key-7",
            "private_key": .string(TestKeys.rsaPKCS8), "token_uri": .string(google),
        ]
        for change in changes.members {
            object[change.name] = change.value == .null ? nil : change.value
        }
        return try TemporaryFile(JSONValue.object(object).text)
    }

    private static func profile(
        _ file: TemporaryFile,
        claims: JSONObject = [:],
        at endpoint: String = google
    ) -> ServerProfile {
        AssertionGrantTests.profile(.serviceAccount(file.path), claims: claims, client: "", at: endpoint)
    }

    @Test func `a service account asks Google in its own name`() async throws {
        let file = try Self.file()
        let bench = try Bench(Self.profile(file, claims: ["sub": "alice@example.com"]))
        bench.exchange.expect(Self.google, AssertionGrantTests.answer)
        let granted = try #require(try await AssertionGrantTests.refresh(bench).granted)
        #expect(granted.scope == ["api"])
        let assertion = try #require(try AssertionGrantTests.sent(bench).first)
        #expect(assertion.claims["iss"] == .string(Self.email))
        #expect(assertion.claims["sub"] == "alice@example.com" && assertion.claims["scope"] == "api")
        #expect(assertion.claims["aud"] == .string(Self.google))
        let now = bench.clock.wallTime.secondsSince1970
        #expect(assertion.claims["iat"] == .integer(now) && assertion.claims["exp"] == .integer(now + 300))
        #expect(assertion.header == ["alg": "RS256", "typ": "JWT", "kid": "key-7"])
        #expect(bench.exchange.sent.first?.formNames.sorted() == ["assertion", "grant_type"])
    }

    @Test func `a narrower scope is asked for in the assertion, and no audience`() async throws {
        let file = try Self.file()
        let bench = try Bench(Self.profile(file))
        bench.exchange.expect(Self.google, AssertionGrantTests.answer)
        let narrow = TokenVariant(scopes: ["read"], audience: nil)
        let granted = try #require(try await AssertionGrantTests.refresh(bench, variant: narrow).granted)
        #expect(granted.scope == ["read"])
        #expect(try AssertionGrantTests.sent(bench).first?.claims["scope"] == "read")
        let other = TokenVariant(scopes: [], audience: "https://api.example")
        let failure = try await AssertionGrantTests.refresh(bench, variant: other).failure
        #expect(failure?.kind == .variantRefused)
        #expect(bench.exchange.sent.count == 1)
    }

    @Test func `a planted file sends no assertion elsewhere`() async throws {
        let planted = try Self.file(["token_uri": "https://evil.example/token"])
        let bench = try Bench(Self.profile(planted))
        let failure = try #require(try await AssertionGrantTests.refresh(bench).failure)
        #expect(failure.kind == .misconfigured && failure.message.contains("https://evil.example/token"))
        #expect(failure.remedy?.text.contains("token_endpoint") == true)
        #expect(bench.exchange.sent.isEmpty)
        // A configured address takes precedence.
        let endpoint = AssertionGrantTests.endpoint
        let written = try Bench(Self.profile(planted, at: endpoint))
        written.exchange.expect(endpoint, AssertionGrantTests.answer)
        #expect(try await AssertionGrantTests.refresh(written).granted != nil)
        #expect(try AssertionGrantTests.sent(written).first?.claims["aud"] == .string(endpoint))
    }

    @Test(.holds("189")) func `an issuer sends no assertion to a place of its own`() async throws {
        var profile = TestIssuer.profile()
        profile.flow = .jwtBearer
        let file = try Self.file()
        profile.grant = .assertion(AssertionGrant(.serviceAccount(file.path)))
        let bench = try Bench(profile)
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
        let failure = try #require(try await AssertionGrantTests.refresh(bench).failure)
        #expect(failure.kind == .misconfigured && failure.message.contains("not for id.example"))
        #expect(bench.exchange.posts(to: TestIssuer.tokenEndpoint).isEmpty)
        profile.endpoints.token = TestIssuer.tokenEndpoint
        let written = try Bench(profile)
        written.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata())
        written.exchange.expect(TestIssuer.tokenEndpoint, AssertionGrantTests.answer)
        #expect(try await AssertionGrantTests.refresh(written).granted != nil)
    }

    @Test(
        arguments: [
            ["type": "authorized_user", "refresh_token": "secret"], ["client_email": .null],
            ["client_email": ""], ["private_key": .null], ["private_key": 5], ["token_uri": 5],
        ] as [JSONObject]
    )
    func `another file is no service account's, and is not quoted`(changes: JSONObject) async throws {
        try await Self.expectMistake(in: try Self.file(changes), "contains no service account key")
    }

    @Test(arguments: ["{}", "[]"])
    func `what is no key file at all is not quoted either`(text: String) async throws {
        try await Self.expectMistake(in: try TemporaryFile(text), "contains no service account key")
    }

    @Test(arguments: ["secret", #"{"type":"service_account","type":"service_account"}"#])
    func `what is not JSON may still be written, and is read again`(text: String) async throws {
        try await Self.expectMistake(in: try TemporaryFile(text), "is not JSON", .helperFailed)
    }

    @Test(arguments: [1, 20, 400]) func `a file that lacks its end is read again`(left: Int) async throws {
        let whole = try Self.file()
        let file = try TemporaryFile(String(try #require(File.text(whole.path)).dropLast(left)))
        try await Self.expectMistake(in: file, "is not JSON", .helperFailed)
    }

    @Test(
        arguments: [
            (TestKeys.encryptedPKCS8, "is encrypted", .misconfigured),
            (TestKeys.ellipticPKCS8, "supported: RS256", .misconfigured),
            ("x", "contains neither PEM nor a JWK", .helperFailed),
        ] as [(String, String, FailureClass)]
    )
    func `a key that Google would not take is named`(
        key: String,
        words: String,
        kind: FailureClass
    ) async throws {
        try await Self.expectMistake(in: try Self.file(["private_key": .string(key)]), words, kind)
    }

    private static func expectMistake(
        in file: TemporaryFile,
        _ words: String,
        _ kind: FailureClass = .misconfigured
    ) async throws {
        let bench = try Bench(profile(file))
        let failure = try #require(try await AssertionGrantTests.refresh(bench).failure)
        #expect(failure.kind == kind)
        #expect(failure.message.hasPrefix("service_account_file \(file.path): "), "\(failure)")
        #expect(failure.message.contains(words), "\(failure)")
        #expect(failure.remedy != nil && failure.remedy?.text.contains("command") == false)
        #expect(!"\(failure)".contains("secret"))
        #expect(bench.exchange.sent.isEmpty)
    }
}
