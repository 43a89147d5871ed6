// SPDX-License-Identifier: MIT

import Crypto
import Text

/// A client's key, with valid and invalid DPoP proofs signed by it (RFC 9449 §4.2).
package struct ProvingKey: Sendable {
    private let key: P256.Signing.PrivateKey

    package init() {
        key = P256.Signing.PrivateKey()
    }

    /// Reads an existing key.
    package init(pem: String) throws {
        key = try P256.Signing.PrivateKey(pemRepresentation: pem)
    }

    /// The public key as a JSON Web Key (RFC 7518 §6.2.1).
    package var webKey: JSONObject {
        let point = Array(key.publicKey.rawRepresentation)
        return [
            "kty": "EC", "crv": "P-256",
            "x": .string(ProvingKey.encode(point.prefix(32))),
            "y": .string(ProvingKey.encode(point.suffix(32))),
        ]
    }

    /// The private key (RFC 7518 §6.2.2), which a proof must not contain.
    package var secret: JSONValue { .string(ProvingKey.encode(key.rawRepresentation)) }

    package var thumbprint: String { ProvingKey.thumbprint(of: webKey) }

    /// Returns the thumbprint over the required members only, sorted, without whitespace (RFC 7638 §3).
    package static func thumbprint(of webKey: JSONObject) -> String {
        var members = JSONObject()
        for name in ["crv", "kty", "x", "y"] { members[name] = webKey[name] }
        return encode(SHA256.hash(data: JSONValue.object(members).serialized))
    }

    /// The header of a valid proof by this key.
    package var header: JSONObject {
        ["typ": "dpop+jwt", "alg": "ES256", "jwk": .object(webKey)]
    }

    /// Returns a proof with any header and claims, signed by this key.
    package func proof(header: JSONObject, claims: JSONObject) throws -> String {
        let input = ProvingKey.signingInput(header: header, claims: claims)
        let signature = try key.signature(for: Array(input.utf8)).rawRepresentation
        return "\(input).\(ProvingKey.encode(signature))"
    }

    /// Returns a proof with a symmetric key that everybody can read in it, a classic attack on JWT libraries.
    package func symmetricProof(header: JSONObject, claims: JSONObject) -> String {
        let input = ProvingKey.signingInput(header: header, claims: claims)
        let publicBytes = SymmetricKey(data: key.publicKey.rawRepresentation)
        let code = HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: publicBytes)
        return "\(input).\(ProvingKey.encode(code))"
    }

    /// Returns `header.claims`, the input of a signature (RFC 7515 §5.1).
    package static func signingInput(header: JSONObject, claims: JSONObject) -> String {
        "\(encode(JSONValue.object(header).serialized)).\(encode(JSONValue.object(claims).serialized))"
    }

    /// Returns the value of `ath` for `accessToken`.
    package static func hash(of accessToken: String) -> String {
        encode(SHA256.hash(data: Array(accessToken.utf8)))
    }

    /// Encodes bytes in Base64 as in a JWT (RFC 7515 §2).
    private static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        return String(
            stride(from: 0, to: bits.count, by: 6).map { start in
                let group = bits[start..<min(start + 6, bits.count)]
                let value = group.reduce(0) { $0 << 1 | Int($1) }
                return alphabet[value << (6 - group.count)]
            }
        )
    }
}
