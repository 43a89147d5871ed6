// SPDX-License-Identifier: MIT

import StrictJSON
import Testing
import TokenCore

@testable import OAuthClient

/// ID tokens that come with a refresh (OIDC Core §12.2).
struct RefreshedIDTokenTests {
    /// Claims of a refresh's ID token, and whether it is another identity (O43).
    @Test(
        arguments: [
            ([:], false),
            (["exp": .integer(TestIssuer.now + 9_000), "iat": .integer(TestIssuer.now + 60)], false),
            (["sub": "mallory"], true),
            (["aud": "other"], true), (["aud": ["cli", "x"], "azp": "cli"], true),
            (["iss": "https://id.example/other"], true),
            (["nonce": "of-another-login"], true), (["sub": .null], true),
            // Only our clock is wrong: the tokens are served, this ID token is not kept.
            (["exp": .integer(TestIssuer.now - 9_000), "iat": .integer(TestIssuer.now - 9_300)], false),
        ] as [([String: JSONValue], Bool)]
    )
    func `an ID token of a refresh must name the same person`(
        claims: [String: JSONValue],
        isOther: Bool
    ) async throws {
        let issuer = try await TestIssuer()
        let outcome = try await refresh(issuer.idToken(claims), original: issuer.idToken(), issuer)
        #expect(outcome.failure?.kind == (isOther ? .identityChanged : nil))
    }

    @Test func `an ID token of a refresh signed by a stranger freezes the session`() async throws {
        let issuer = try await TestIssuer()
        let stranger = try await TestIssuer()
        let outcome = try await refresh(
            stranger.idToken(signedAs: "ES256"),
            original: issuer.idToken(),
            issuer
        )
        #expect(outcome.failure?.kind == .identityChanged)
    }

    @Test func `a key nobody has published yet costs no session`() async throws {
        let issuer = try await TestIssuer()
        let outcome = try await refresh(
            issuer.idToken(header: ["kid": "new"]),
            original: issuer.idToken(),
            issuer
        )
        let granted = try #require(outcome.granted)
        #expect(granted.refreshToken != nil)
        #expect(granted.idToken == nil)
    }

    /// `auth_time` at the login and at the refresh, and whether the new ID token is used (OIDC Core §12.2).
    @Test(
        arguments: [
            (.null, .null, true), (1_799_000_000, 1_799_000_000, true), (1_799_000_000, .null, true),
            (.null, 1_799_000_000, true), (1_799_000_000, 1_799_000_001, false),
        ] as [(JSONValue, JSONValue, Bool)]
    )
    func `an ID token of another authentication is not used, the tokens are`(
        before: JSONValue,
        after: JSONValue,
        isKept: Bool
    ) async throws {
        let issuer = try await TestIssuer()
        let outcome = try await refresh(
            issuer.idToken(["auth_time": after]),
            original: issuer.idToken(["auth_time": before]),
            issuer
        )
        let granted = try #require(outcome.granted, "\(outcome)")
        #expect((granted.idToken != nil) == isKept)
    }

    @Test func `keys that can not be had cost no rotated refresh token`() async throws {
        let issuer = try await TestIssuer()
        let outcome = try await refresh(
            issuer.idToken(),
            original: issuer.idToken(),
            issuer,
            keySetStatus: 500
        )
        let granted = try #require(outcome.granted)
        #expect(granted.refreshToken != nil)
        #expect(granted.idToken == nil)
    }

    private func refresh(
        _ idToken: String,
        original: String,
        _ issuer: TestIssuer,
        keySetStatus: Int = 200
    ) async throws -> RefreshOutcome {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.always(TestIssuer.discoveryURL, .json(TestIssuer.metadata()))
        bench.exchange.always(TestIssuer.keySetURL, .json(issuer.keySet, status: keySetStatus))
        bench.exchange.expect(
            TestIssuer.tokenEndpoint,
            #"{"access_token":"at","refresh_token":"rt-2","id_token":"\#(idToken)"}"#
        )
        return try await bench.refresh(idToken: original, tokenEndpoint: TestIssuer.tokenEndpoint)
    }
}
