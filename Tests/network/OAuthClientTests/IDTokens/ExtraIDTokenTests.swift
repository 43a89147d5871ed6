// SPDX-License-Identifier: MIT

import ServerSettings
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// ID tokens that come with kind `oauth2`, which promises none, and endpoints written beside an issuer.
struct ExtraIDTokenTests {
    private static func profile(issuer: String? = nil, keySet: String? = nil) -> ServerProfile {
        ServerProfile(
            kind: .oauth2(
                FixedEndpoints(token: TestIssuer.tokenEndpoint, keySet: keySet, issuer: issuer)
            ),
            client: ClientIdentity("cli"),
            scopes: ["openid"],
            flow: .password
        )
    }

    private func logIn(
        _ profile: ServerProfile,
        _ idToken: String,
        _ keySet: String
    ) async throws -> LoginGrant {
        let bench = try Bench(profile)
        bench.exchange.always(TestIssuer.keySetURL, .json(keySet))
        bench.exchange.expect(
            TestIssuer.tokenEndpoint,
            #"{"access_token":"at","refresh_token":"rt","id_token":"\#(idToken)"}"#
        )
        let person = ScriptedPerson(memory: bench.memory) { _ in "alice" }
        return try #require(await bench.server.logIn(LoginRequest(), conversation: person).granted)
    }

    /// The issuer written down, whether its keys are, claims, signer, and whether the ID token is kept.
    @Test(
        arguments: [
            (nil, false, [:], "RS256", true), (nil, false, [:], "ES256", true),
            (TestIssuer.url, false, [:], "RS256", true), (TestIssuer.url, true, [:], "RS256", true),
            (nil, true, [:], "EdDSA", true),
            ("https://other.example", false, [:], "RS256", false),
            (nil, false, ["aud": "other"], "RS256", false), (nil, false, ["sub": .null], "RS256", false),
            (nil, false, ["exp": .integer(TestIssuer.now - 9_000)], "RS256", false),
            (nil, false, [:], "HS256", false),
        ] as [(String?, Bool, [String: JSONValue], String, Bool)]
    )
    func `an ID token that comes unasked is kept if it is right, and costs no login`(
        issuer: String?,
        hasKeys: Bool,
        claims: [String: JSONValue],
        signer: String,
        isKept: Bool
    ) async throws {
        let server = try await TestIssuer()
        let profile = Self.profile(issuer: issuer, keySet: hasKeys ? TestIssuer.keySetURL : nil)
        let token = try server.idToken(claims, signedAs: signer)
        let grant = try await logIn(profile, token, server.keySet)
        #expect((grant.tokens.idToken != nil) == isKept)
        #expect(grant.subject == (isKept ? "alice" : nil))
        #expect(grant.tokens.remarks.map(\.kind) == (isKept ? [] : [.idTokenDropped]))
        #expect(grant.tokens.refreshToken != nil)
    }

    @Test func `with keys a signature by a stranger is not believed`() async throws {
        let (server, stranger) = (try await TestIssuer(), try await TestIssuer())
        let profile = Self.profile(keySet: TestIssuer.keySetURL)
        let grant = try await logIn(profile, stranger.idToken(signedAs: "ES256"), server.keySet)
        #expect(grant.tokens.idToken == nil)
    }

    @Test func `a device endpoint that the metadata leave out may be written down`() async throws {
        var profile = TestIssuer.profile()
        profile.endpoints.deviceAuthorization = "https://devices.example/device"
        let bench = try Bench(profile)
        let document = TestIssuer.metadata(["device_authorization_endpoint": .null])
        bench.exchange.always(TestIssuer.discoveryURL, .json(document))
        bench.exchange.always(TestIssuer.oauthURL, .json("", status: 404))
        bench.exchange.expect("https://devices.example/device", status: 400, #"{"error":"access_denied"}"#)
        let person = ScriptedPerson(memory: bench.memory)
        _ = await bench.server.logIn(LoginRequest(flow: .device), conversation: person)
        let sent = try #require(bench.exchange.posts(to: "https://devices.example/device").first)
        // The configuration named it, so it may be anywhere.
        #expect(!sent.publicAddressOnly)
    }

    @Test func `a refresh token does not follow a token endpoint written down since`() async throws {
        var profile = TestIssuer.profile()
        profile.endpoints.token = "https://elsewhere.example/token"
        let bench = try Bench(profile)
        let failure = try await bench.refresh(tokenEndpoint: TestIssuer.tokenEndpoint).failure
        #expect(failure?.kind == .misconfigured)
        #expect(bench.exchange.sent.isEmpty)
    }
}
