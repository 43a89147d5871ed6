// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Tokens of installations of GitHub Apps; what GitHub answers is as its documents have it.
struct GitHubAppServerTests {
    private static let api = "https://api.github.com"
    private static let tokens = "\(api)/app/installations/42/access_tokens"
    /// Twenty minutes after the clock of the tests.
    private static let answer = #"{"token":"ghs_secret-token","expires_at":"2027-01-15T08:20:00Z"}"#

    private let directory: TemporaryDirectory
    private let key: String

    init() throws {
        directory = try TemporaryDirectory()
        key = try directory.write(TestKeys.rsaPKCS1, to: "app.pem", mode: 0o600)
    }

    private func bench(_ change: (inout GitHubApp) -> Void = { _ in }) throws -> KindBench {
        var app = GitHubApp(appID: "12345", key: .file(key), installation: .id(42))
        change(&app)
        return try KindBench(ServerProfile(kind: .gitHubApp(app), client: ClientIdentity("")))
    }

    @Test(.holds("192")) func `the app signs for itself, and gets a token with its end`() async throws {
        let bench = try bench()
        bench.exchange.expect(Self.tokens, status: 201, Self.answer)
        let granted = try #require(try await bench.refresh(.withoutLogin).granted)
        #expect(try bench.text(granted.accessToken) == "ghs_secret-token")
        #expect(granted.lifetime == .seconds(1_200))
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.headers["user-agent"] == "tokenagent")
        #expect(sent.headers["accept"] == "application/vnd.github+json")
        let bearer = try #require(sent.headers["authorization"]?.split(separator: " ").last)
        let claims = try #require(JWTParts(String(bearer))?.claims)
        let now = bench.clock.wallTime.secondsSince1970
        #expect(claims["iss"]?.string == "12345")
        #expect(claims.seconds("iat") == now - 60 && claims.seconds("exp") == now + 300)
        #expect(sent.json?.members.isEmpty == true)
    }

    @Test(.holds("192")) func `repositories and permissions are asked for, and no other scope`() async throws
    {
        let bench = try bench {
            $0.repositories = ["web", "api"]
            $0.permissions = ["contents": "read"]
        }
        bench.exchange.expect(Self.tokens, status: 201, Self.answer)
        #expect(try await bench.refresh(.withoutLogin).granted != nil)
        let body = try #require(bench.exchange.sent.first?.json)
        #expect(body["repositories"] == .strings(["web", "api"]))
        #expect(body["permissions"] == ["contents": "read"])
        let variant = TokenVariant(scopes: ["more"], audience: nil)
        #expect(try await bench.refresh(.withoutLogin, variant: variant).failure?.kind == .variantRefused)
        #expect(bench.exchange.sent.count == 1)
    }

    @Test func `an account is looked up once, as a person and as an organization`() async throws {
        let bench = try bench { $0.installation = .account("a/me") }
        bench.exchange.expect("\(Self.api)/users/a%2Fme/installation", status: 404, "{}")
        bench.exchange.expect("\(Self.api)/orgs/a%2Fme/installation", #"{"id":42}"#)
        bench.exchange.expect(Self.tokens, status: 201, Self.answer)
        bench.exchange.expect(Self.tokens, status: 201, Self.answer)
        for _ in 0..<2 { #expect(try await bench.refresh(.withoutLogin).granted != nil) }
        #expect(bench.exchange.isExhausted)
    }

    @Test func `an installation that is gone is looked up again`() async throws {
        let bench = try bench { $0.installation = .account("acme") }
        let place = "\(Self.api)/users/acme/installation"
        bench.exchange.expect(place, #"{"id":41}"#)
        bench.exchange.expect("\(Self.api)/app/installations/41/access_tokens", status: 404, "{}")
        bench.exchange.expect(place, #"{"id":42}"#)
        bench.exchange.expect(Self.tokens, status: 201, Self.answer)
        #expect(try await bench.refresh(.withoutLogin).failure?.kind == .misconfigured)
        #expect(try await bench.refresh(.withoutLogin).granted != nil)
    }

    @Test(
        arguments: [
            (401, .misconfigured, "app_id"), (404, .misconfigured, "installation"),
            (422, .misconfigured, "permissions"), (403, .busy, nil), (429, .busy, nil), (500, .busy, nil),
            (302, .misbehaved, nil), (200, .misbehaved, nil),
        ] as [(Int, FailureClass, String?)]
    )
    func `a refusal says what to check`(status: Int, kind: FailureClass, remedy: String?) async throws {
        let bench = try bench()
        bench.exchange.expect(Self.tokens, status: status, #"{"message":"Not\u001b[2J granted"}"#)
        let failure = try #require(try await bench.refresh(.withoutLogin).failure)
        #expect(failure.kind == kind)
        #expect(failure.message == "api.github.com returned \(status) Not [2J granted")
        #expect(remedy.map { failure.remedy?.text.contains($0) == true } ?? (failure.remedy == nil))
    }

    @Test func `GitHub's limits are waited for`() async throws {
        let bench = try bench()
        let reset = bench.clock.wallTime.secondsSince1970 + 600
        bench.exchange.expect(
            Self.tokens,
            status: 403,
            "{}",
            headers: ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "\(reset)"]
        )
        #expect(try await bench.refresh(.withoutLogin).failure?.retryAfter == .seconds(600))
        bench.exchange.expect(Self.tokens, status: 429, "{}", headers: ["retry-after": "30"])
        #expect(try await bench.refresh(.withoutLogin).failure?.retryAfter == .seconds(30))
    }

    @Test(arguments: ["{}", #"{"token":"a b","expires_at":"2027-01-15T08:20:00Z"}"#, #"{"token":"ghs_x"}"#])
    func `an answer without a token or its end is none`(body: String) async throws {
        let bench = try bench()
        bench.exchange.expect(Self.tokens, status: 201, body)
        #expect(try await bench.refresh(.withoutLogin).failure?.kind == .misbehaved)
    }

    @Test(.holds("192")) func `a key that cannot be used is named, and nothing is sent`() async throws {
        let rows: [(String, String)] = [
            (try directory.write(TestKeys.ellipticPKCS8, to: "ec.pem", mode: 0o600), "signs with ES256"),
            (try directory.write("nonsense", to: "none.pem", mode: 0o600), "contains neither PEM nor a JWK"),
            (directory.path("missing.pem"), "No such file or directory"),
            (try directory.write(TestKeys.rsaPKCS1, to: "open.pem", mode: 0o644), "other users"),
        ]
        for (path, words) in rows {
            let bench = try bench { $0.key = .file(path) }
            let failure = try #require(try await bench.refresh(.withoutLogin).failure)
            #expect(failure.kind == (words == "signs with ES256" ? .misconfigured : .helperFailed))
            #expect(failure.message.hasPrefix("key_file \(path): ") && failure.message.contains(words))
            #expect(bench.exchange.sent.isEmpty)
            guard words == "signs with ES256" else { continue }
            #expect(failure.remedy == .set("key_file to an RSA key in PEM or JWK format"))
        }
    }

    @Test func `a logout gives the token back`() async throws {
        let bench = try bench()
        bench.exchange.expect("\(Self.api)/installation/token", status: 204, "")
        #expect(try await bench.revoke(refreshToken: nil, accessToken: "ghs_old") == .revoked)
        let sent = try #require(bench.exchange.sent.first)
        #expect(sent.method == "DELETE" && sent.headers["authorization"] == "Bearer ghs_old")
    }
}
