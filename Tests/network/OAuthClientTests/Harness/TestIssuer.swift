// SPDX-License-Identifier: MIT

import Crypto
import JWTKit
import ServerSettings
import Testing
import Text

@testable import OAuthClient

/// An issuer's keys and documents, and ID tokens good and bad.
struct TestIssuer {
    static let url = "https://id.example/tenant"
    static let tokenEndpoint = "https://id.example/tenant/token"
    static let keySetURL = "https://id.example/tenant/jwks"
    static let discoveryURL = "https://id.example/tenant/.well-known/openid-configuration"
    static let oauthURL = "https://id.example/.well-known/oauth-authorization-server/tenant"
    static let clientSecret = "a client secret of some length: 32"
    static let now: Int64 = 1_800_000_000
    /// The name of a signer that takes what everybody can read for a secret.
    static let publicKeyAsSecret = "public key as secret"

    /// Made for these tests; protects nothing.
    private static let modulus = """
        osnlYre5Fr44cRfolsYnSQQe-saRF-nA5CfTO7gIXoeeAM5VnxYTTN2eAghGFQB5NY-wVYgN8qS4dfy-Xy3bUGEK4vp6WjRU\
        dgUZgpoULyaLXccpCwB8pYtAguiTTXmwIQ9oq3R0q8YshveznIOI59VWTpS49gZgxKbeDghA9X3LxqbXTup8pJczGP9MurM_\
        5Em2_tfsWlmOZnsS1cKjun62VLmuJhzCQplJGuCIrIw2gizZugPmHBxAK-xI_uxg3K3FjkGT-kO974_WcpSP7WuAX3Qp-TTJ\
        eSSkgLjHYel_4iIXblqD3NZZmo8J8ybRAAb9yhsI2nppZeDX_8_9mw
        """
    private static let privateExponent = """
        K4HRNDqNFbZ-KD-vEojgHAQlcXmbcqwvOOsp6eaMGhOd13JN8Og5_UunvLxQWrGXM4j1JE7qB2Udxa7ohFChslBVVAeEptIg\
        lrBTOpQKe_WNvuEJJ58YMThP5AzbvZOdzqArJdPIkNY0tVfDYbvH3conOHZIHrzipPxCEbcEAXgRYKenI_4S9qvUf4LF8yJa\
        4AkUgpX5f2M9oSg3BNIeIzUd8axGOdNOT5kX_uO29sIAMiH3FR-xoiwwDNR7q8Vr4XMOE2Ew-ugxeh4c7TdsI8L7mD7DD0gg\
        8K_8TiFuaGnZ3J0hZB3C1yOvNsetLgYzET-H95GgwOHaKRIPbZlbVQ
        """

    private let ecdsa = P256.Signing.PrivateKey()
    private let eddsa = Curve25519.Signing.PrivateKey()
    let signers: [String: any JWTAlgorithm]
    let keySet: String

    init() async throws {
        let rsa = try Insecure.RSA.PrivateKey(
            modulus: TestIssuer.modulus,
            exponent: "AQAB",
            privateExponent: TestIssuer.privateExponent
        )
        let secret = HMACKey(from: TestIssuer.clientSecret)
        signers = [
            "RS256": try await JWTKeyCollection().add(rsa: rsa, digestAlgorithm: .sha256).getKey(),
            "RS512": try await JWTKeyCollection().add(rsa: rsa, digestAlgorithm: .sha512).getKey(),
            "PS256": try await JWTKeyCollection().add(pss: rsa, digestAlgorithm: .sha256).getKey(),
            "ES256": try await JWTKeyCollection().add(ecdsa: try ES256PrivateKey(backing: ecdsa)).getKey(),
            "EdDSA": try await JWTKeyCollection().add(eddsa: EdDSA.PrivateKey(backing: eddsa)).getKey(),
            TestIssuer.publicKeyAsSecret: try await JWTKeyCollection().add(
                hmac: HMACKey(from: TestIssuer.modulus),
                digestAlgorithm: .sha256
            ).getKey(),
            "HS256": try await JWTKeyCollection().add(hmac: secret, digestAlgorithm: .sha256).getKey(),
        ]
        let point = Array(ecdsa.publicKey.rawRepresentation)
        keySet = TestIssuer.keySet([
            TestIssuer.rsaKey(),
            [
                "kty": "EC", "kid": "ec", "crv": "P-256", "x": .string(Base64.urlEncoded(point.prefix(32))),
                "y": .string(Base64.urlEncoded(point.suffix(32))),
            ],
            [
                "kty": "OKP", "kid": "ed", "crv": "Ed25519",
                "x": .string(Base64.urlEncoded(eddsa.publicKey.rawRepresentation)),
            ],
        ])
    }

    static func keySet(_ keys: [JSONValue]) -> String {
        JSONValue(dictionaryLiteral: ("keys", .array(keys))).text
    }

    static func rsaKey(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        changed(["kty": "RSA", "kid": "rsa", "n": .string(modulus), "e": "AQAB"], by: changes)
    }

    /// `object` with members replaced or, where the change is `.null`, removed.
    static func changed(_ object: [String: JSONValue], by changes: [String: JSONValue]) -> JSONValue {
        var members = JSONObject()
        for (name, value) in object { members[name] = value }
        for (name, value) in changes { members[name] = value == .null ? nil : value }
        return .object(members)
    }

    /// The metadata document.
    static func metadata(_ changes: [String: JSONValue] = [:]) -> String {
        changed(
            [
                "issuer": .string(url), "token_endpoint": .string(tokenEndpoint),
                "jwks_uri": .string(keySetURL),
                "authorization_endpoint": "https://id.example/tenant/authorize",
                "device_authorization_endpoint": "https://id.example/tenant/device",
                "revocation_endpoint": "https://id.example/tenant/revoke",
                "id_token_signing_alg_values_supported": ["RS256", "PS256", "ES256", "EdDSA", "HS256"],
                "code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"],
            ],
            by: changes
        ).text
    }

    static func profile(secret: SecretSource? = nil) -> ServerProfile {
        ServerProfile(
            kind: .oidc(issuer: url),
            client: ClientIdentity("cli", proof: ClientProof(secret: secret)),
            scopes: ["openid", "api"]
        )
    }

    /// A signed ID token; good unless something is changed.
    func idToken(
        _ claims: [String: JSONValue] = [:],
        header: [String: JSONValue] = [:],
        signedAs algorithm: String = "RS256"
    ) throws -> String {
        let kid: JSONValue =
            switch algorithm {
            case "ES256": "ec"
            case "EdDSA": "ed"
            default: "rsa"
            }
        let header = TestIssuer.changed(["alg": .string(algorithm), "kid": kid], by: header)
        let claims = TestIssuer.changed(
            [
                "iss": .string(TestIssuer.url), "aud": "cli", "sub": "alice", "iat": .integer(TestIssuer.now),
                "exp": .integer(TestIssuer.now + 300),
            ],
            by: claims
        )
        let signed = Base64.urlEncoded(header.serialized) + "." + Base64.urlEncoded(claims.serialized)
        let signature = try #require(signers[algorithm]).sign(Array(signed.utf8))
        return signed + "." + Base64.urlEncoded(signature)
    }

    /// A signature over anything by the key of `algorithm`.
    func signature(of text: String, as algorithm: String) throws -> String {
        Base64.urlEncoded(try #require(signers[algorithm]).sign(Array(text.utf8)))
    }
}
