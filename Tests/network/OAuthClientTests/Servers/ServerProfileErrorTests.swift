// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import OAuthClient

struct ServerProfileErrorTests {
    @Test func `good profiles have no problem`() throws {
        #expect(ServerProfile.fixed().problems == [])
        var profile = TestIssuer.profile(secret: .file("/etc/secret"))
        profile.resources = ["https://api.example/v1", "urn:example:api"]
        profile.trust = ServerTrust(caFile: "/etc/ca.pem", pins: [Certificates.goodPin])
        #expect(profile.problems == [])
    }

    /// A key, and a profile with something wrong there.
    struct Row: Sendable, CustomTestStringConvertible {
        var key: String
        var profile: ServerProfile

        init(_ key: String, _ spoil: (inout ServerProfile) -> Void) {
            self.key = key
            profile = .fixed()
            spoil(&profile)
        }

        var testDescription: String { key }
    }

    static let rows: [Row] = [
        Row("issuer") { $0.kind = .oidc(issuer: "https://id.example?x") },
        Row("client_id") { $0.client.id = "a\n" },
        Row("scopes") { $0.scopes = ["a b"] },
        Row("scopes") { $0.scopes = [""] },
        Row("scopes") { $0.scopes = ["a\""] },
        Row("resources") { $0.resources = ["api"] },
        Row("resources") { $0.resources = ["https://a/#b"] },
        Row("flow") { $0.flow = .clientCredentials },
        Row("pins") { $0.trust.pins = ["sha256/short"] },
        Row("pins") { $0.trust.pins = ["sha1/AAAA"] },
        Row("prompt") { $0.authorization.prompt = "none login" },
        Row("prompt") { $0.authorization.prompt = "é" },
        Row("acr_values") { $0.authorization.contextClasses = ["a b"] },
        Row("redirect_uri") { $0.authorization.redirect = .registered("/callback") },
        Row("redirect_uri") { $0.authorization.redirect = .registered("https://app.example/#x") },
        Row("redirect_uri") { $0.authorization.redirect = .registered("http://localhost:0/") },
        Row("redirect_uri") { $0.authorization.redirect = .registered("http://[::1]:65536/") },
    ]

    /// Parameters that the configuration must not add: ours, those with a key, secrets, and answers we cannot read.
    static let refused: [(name: String, value: String)] =
        [
            "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method",
            "nonce", "scope", "dpop_jkt", "request", "request_uri", "resource", "audience", "prompt",
            "login_hint", "acr_values", "max_age", "client_secret", "client_assertion", "code_verifier", "",
            "a b", "\u{7F}",
        ].map { ($0, "x") }
        + ["fragment", "jwt", "query.jwt", "QUERY", ""].map { ("response_mode", $0) }

    @Test(arguments: refused)
    func `no further parameter changes what a login rests on`(name: String, value: String) {
        var profile = ServerProfile.fixed()
        profile.authorization.parameters = ["hd": "example.com", name: value]
        #expect(profile.problems.map(\.key) == ["authorization_parameters"])
    }

    @Test func `an answer in a form needs a place where we listen`() {
        var profile = ServerProfile.fixed()
        profile.authorization.parameters = ["response_mode": "form_post"]
        #expect(profile.problems == [])
        profile.authorization.redirect = .registered("https://app.example/cb")
        #expect(profile.problems.map(\.key) == ["authorization_parameters"])
    }

    @Test(.holds("O27"), arguments: rows)
    func `a bad profile is told by its key`(row: Row) {
        #expect(row.profile.problems.map(\.key) == [row.key])
    }

    @Test func `every problem is told`() {
        var profile = ServerProfile.fixed()
        profile.scopes = ["a b", "c d"]
        profile.trust.pins = ["x"]
        #expect(profile.problems.map(\.key) == ["scopes", "scopes", "pins"])
    }
}

extension ServerProfile {
    /// All there are.
    var problems: [ServerProfileError] { kind.settings.problems + clientProblems + otherProblems }
}
