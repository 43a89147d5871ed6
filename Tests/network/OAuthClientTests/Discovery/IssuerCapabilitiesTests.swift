// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// The parts of a metadata document that are reported before a session uses the issuer.
struct IssuerCapabilitiesTests {
    private func offer(_ changes: [String: JSONValue]) throws -> IssuerCapabilities {
        let document = try #require(try JSONValue(parsing: TestIssuer.metadata(changes).utf8).object)
        return IssuerCapabilities(try ServerMetadata(document, issuer: TestIssuer.url, isInternal: false))
    }

    @Test func `a document that says little offers what the standard says`() throws {
        let offer = try offer([:])
        #expect(offer.flows == [.browser, .device])
        #expect(offer.authentication == nil && offer.scopes == nil)
        #expect(offer.features == [.pkce, .revocation])
    }

    @Test(
        arguments: [
            (["device_authorization_endpoint": .null], [.browser]),
            (["authorization_endpoint": .null], [.device]),
            (["response_types_supported": ["token", "id_token"]], [.device]),
            (["grant_types_supported": ["implicit"]], [.device]),
            (
                ["grant_types_supported": ["authorization_code", "password", "client_credentials"]],
                [.browser, .device, .password, .clientCredentials]
            ),
            (["response_types_supported": "code", "grant_types_supported": [7]], [.device]),
        ] as [([String: JSONValue], [LoginFlow])]
    )
    func `a flow is offered if nothing of it is missing`(
        changes: [String: JSONValue],
        flows: [LoginFlow]
    ) throws {
        #expect(try offer(changes).flows == flows)
    }

    @Test(
        .holds("191"),
        arguments: [
            (["none"], [.none]),
            (["client_secret_basic", "client_secret_post"], [.basic, .post]),
            (["private_key_jwt", "client_secret_jwt"], [.clientSecretJWT, .privateKeyJWT]),
            (["self_signed_tls_client_auth"], [.tls]), (["tls_client_auth"], [.tls]),
            (["None", "client_secret_basic\u{0}"], []),
        ] as [([JSONValue], [IssuerCapabilities.Authentication])]
    )
    func `ways to prove the client have the configuration's words`(
        methods: [JSONValue],
        words: [IssuerCapabilities.Authentication]
    ) throws {
        #expect(try offer(["token_endpoint_auth_methods_supported": .array(methods)]).authentication == words)
    }

    @Test(.holds("191")) func `of scopes only those are told that mean the same everywhere`() throws {
        #expect(try offer(["scopes_supported": ["mail:read", "$(id)"]]).scopes == [])
        #expect(
            try offer(["scopes_supported": ["profile", "offline_access", "openid", "OPENID"]]).scopes
                == [.openid, .offlineAccess, .profile]
        )
    }

    @Test(
        arguments: [
            (["code_challenge_methods_supported": ["plain"]], .pkce, false),
            (
                ["pushed_authorization_request_endpoint": "https://id.example/par"], .pushedRequests,
                true
            ),
            (["dpop_signing_alg_values_supported": ["ES256"]], .dpop, true),
            (["dpop_signing_alg_values_supported": []], .dpop, false),
            (["revocation_endpoint": .null], .revocation, false),
            (["registration_endpoint": "https://id.example/register"], .registration, true),
            (
                ["grant_types_supported": ["urn:ietf:params:oauth:grant-type:token-exchange"]],
                .tokenExchange, true
            ),
            (
                ["grant_types_supported": ["urn:ietf:params:oauth:grant-type:jwt-bearer"]], .jwtBearer,
                true
            ),
        ] as [([String: JSONValue], IssuerCapabilities.Feature, Bool)]
    )
    func `further features are told by their members`(
        changes: [String: JSONValue],
        feature: IssuerCapabilities.Feature,
        isOffered: Bool
    ) throws {
        #expect(try offer(changes).features.contains(feature) == isOffered)
    }

    @Test func `what the OpenID document lacks is taken from the other one`() async throws {
        let bench = try Bench(TestIssuer.profile())
        bench.exchange.expect(TestIssuer.discoveryURL, TestIssuer.metadata(["revocation_endpoint": .null]))
        let more: [String: JSONValue] = [
            "grant_types_supported": ["authorization_code", "password"], "scopes_supported": ["openid"],
            "registration_endpoint": "https://id.example/register",
        ]
        bench.exchange.expect(TestIssuer.oauthURL, TestIssuer.metadata(more))
        let offer = IssuerCapabilities(try await bench.server.discovery.metadata())
        #expect(offer.flows == [.browser, .device, .password])
        #expect(offer.scopes == [.openid])
        #expect(offer.features == [.pkce, .revocation, .registration])
    }
}
