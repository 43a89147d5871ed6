// SPDX-License-Identifier: MIT

import Crypto
import CryptoExtras
import Text

/// A public key as a member of a key set (RFC 7517 §5), either RSA or P-256.
struct PublishedKey {
    private enum Material {
        case rsa(_RSA.Signing.PublicKey)
        case elliptic(ProofKey)
    }

    private let material: Material
    private let identifier: String?

    /// Parses a key, or returns `nil` for another kind of key.
    init?(_ value: JSONValue) {
        guard let members = value.object else { return nil }
        identifier = members["kid"]?.string
        if members["kty"] == "RSA" {
            guard let modulus = (members["n"]?.string).flatMap({ Base64.urlDecoded($0.utf8) }),
                let exponent = (members["e"]?.string).flatMap({ Base64.urlDecoded($0.utf8) }),
                let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
            else { return nil }
            material = .rsa(key)
        } else {
            guard let key = try? ProofKey(value) else { return nil }
            material = .elliptic(key)
        }
    }

    /// Returns whether this key signed `token` with the algorithm of its type.
    ///
    /// A `kid` must be the key's own.
    func isSigner(of token: CompactToken) -> Bool {
        if let name = token.header["kid"], name.string != identifier { return false }
        switch material {
        case .rsa(let key):
            guard token.header["alg"] == "RS256" else { return false }
            return key.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: token.signature),
                for: SHA256.hash(data: Array(token.input.utf8)),
                padding: .insecurePKCS1v1_5
            )
        case .elliptic(let key):
            return token.header["alg"] == "ES256" && key.isSigner(of: token.input, token.signature)
        }
    }
}
