// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// ID tokens that come with a refresh (OIDC Core §12.2).
struct RefreshedIDTokenTests {
    /// Claims of a refresh's ID token that name somebody else or another issuer (O43).
    @Test(
        .holds("99", "O43"),
        arguments: [["sub": "mallory"], ["iss": "https://id.example/other"], ["sub": "ALICE"]]
            as [[String: JSONValue]]
    )
    func `an ID token of a refresh that is somebody else's ends the session`(
        claims: [String: JSONValue]
    ) async throws {
        let issuer = try await TestIssuer()
        let outcome = try await refresh(issuer.idToken(claims), original: issuer.idToken(), issuer)
        #expect(outcome.failure?.kind == .identityChanged)
    }

    /// Claims, header, and what happens to the ID token; the session lives on with all of them.
    @Test(
        .holds("O38"),
        arguments: [
            ([:], [:], true), (["exp": .integer(TestIssuer.now + 9_000)], [:], true),
            (["aud": ["cli", "x"], "azp": "cli"], [:], true),
            (["aud": ["cli", "x"]], [:], true), (["aud": ["y", "x"]], [:], false),
            (["aud": "other"], [:], false), (["aud": .null], [:], false),
            (["azp": .number("null"), "nonce": .number("null"), "auth_time": .number("null")], [:], true),
            (["azp": "other"], [:], false), (["nonce": "of-another-login"], [:], false),
            (["sub": .null], [:], false), (["iss": .null], [:], false),
            (["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"], [:], false),
            (["exp": .integer(TestIssuer.now - 9_000), "iat": .integer(TestIssuer.now - 9_300)], [:], false),
            (["iat": .integer(TestIssuer.now + 9_000)], [:], false), (["exp": .null], [:], false),
            ([:], ["crit": ["x"]], false), ([:], ["kid": "new"], false), ([:], ["alg": "none"], false),
        ] as [([String: JSONValue], [String: JSONValue], Bool)]
    )
    func `an ID token of a refresh that is not believed costs nothing but itself`(
        claims: [String: JSONValue],
        header: [String: JSONValue],
        isKept: Bool
    ) async throws {
        let issuer = try await TestIssuer()
        let outcome = try await refresh(
            issuer.idToken(claims, header: header),
            original: issuer.idToken(),
            issuer
        )
        let granted = try #require(outcome.granted, "\(outcome)")
        #expect(granted.refreshToken != nil)
        #expect((granted.idToken != nil) == isKept)
        #expect(granted.remarks.map(\.kind) == (isKept ? [] : [.idTokenDropped]))
    }

    @Test(arguments: ["opaque", "a.b.c", "with blank"])
    func `what is no ID token at all costs no refresh token`(idToken: String) async throws {
        let issuer = try await TestIssuer()
        let granted = try #require(
            try await refresh(idToken, original: issuer.idToken(), issuer).granted
        )
        #expect(granted.refreshToken != nil)
        #expect(granted.idToken == nil)
        #expect(granted.remarks.map(\.kind) == [.idTokenDropped])
    }

    @Test(.holds("99", "O38"))
    func `an ID token of a refresh signed by a stranger is left out, and said to be`() async throws {
        let issuer = try await TestIssuer()
        let stranger = try await TestIssuer()
        let outcome = try await refresh(
            stranger.idToken(signedAs: "ES256"),
            original: issuer.idToken(),
            issuer
        )
        let granted = try #require(outcome.granted)
        #expect(granted.idToken == nil)
        #expect(
            granted.remarks == [
                .idTokenDropped("the ID token's signature (ES256, key \"ec\") is not from the issuer's key")
            ]
        )
    }

    /// `auth_time` at the login and at the refresh, and whether the new ID token is used (OIDC Core §12.2).
    @Test(
        .holds("O43"),
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

    @Test func `keys that cannot be had cost no rotated refresh token`() async throws {
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
