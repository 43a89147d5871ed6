// SPDX-License-Identifier: MIT

import Crypto
import CryptoExtras
import Text

/// The key that signs the issuer's tokens (RFC 7518).
package enum SigningKey: Sendable {
    package enum Algorithm: String, CaseIterable, Sendable {
        case es256 = "ES256"
        case rs256 = "RS256"
    }

    case es256(P256.Signing.PrivateKey)
    case rs256(_RSA.Signing.PrivateKey)

    /// Creates a new key.
    package init(_ algorithm: Algorithm) throws {
        switch algorithm {
        case .es256: self = .es256(P256.Signing.PrivateKey())
        case .rs256: self = .rs256(try _RSA.Signing.PrivateKey(keySize: .bits2048))
        }
    }

    var algorithm: Algorithm {
        switch self {
        case .es256: .es256
        case .rs256: .rs256
        }
    }

    /// Returns a signed token in the compact form (RFC 7515 §3.1).
    package func sign(claims: JSONObject, header replacements: JSONObject = JSONObject()) throws -> String {
        var header = JSONObject()
        header["alg"] = .string(algorithm.rawValue)
        header["kid"] = .string(keyID)
        header["typ"] = "JWT"
        header.replace(with: replacements)
        let input =
            Base64.urlEncoded(JSONValue.object(header).serialized) + "."
            + Base64.urlEncoded(JSONValue.object(claims).serialized)
        return "\(input).\(Base64.urlEncoded(try signature(of: Array(input.utf8))))"
    }

    /// The private key as PEM, for a client that signs with it.
    package var privateKeyPEM: String {
        switch self {
        case .es256(let key): key.pemRepresentation
        case .rs256(let key): key.pemRepresentation
        }
    }

    /// Returns the claims of `token`, or `nil` unless this key signed the token.
    package func claims(of token: String) -> JSONObject? {
        guard let token = CompactToken(token), isSignature(token.signature, of: Array(token.input.utf8))
        else { return nil }
        return token.claims
    }

    /// Returns the public key as a member of the key set (RFC 7517).
    package func webKey() throws -> JSONValue {
        let common: [(String, JSONValue)] = [
            ("kid", .string(keyID)), ("use", "sig"), ("alg", .string(algorithm.rawValue)),
        ]
        var object = JSONObject()
        for (name, value) in try common + parameters() { object[name] = value }
        return .object(object)
    }

    /// The `kid` of this key's tokens.
    package var keyID: String {
        switch self {
        case .es256(let key):
            Base64.urlEncoded(SHA256.hash(data: key.publicKey.rawRepresentation).prefix(9))
        case .rs256(let key):
            Base64.urlEncoded(SHA256.hash(data: key.publicKey.derRepresentation).prefix(9))
        }
    }

    private func parameters() throws -> [(String, JSONValue)] {
        switch self {
        case .es256(let key):
            let point = Array(key.publicKey.rawRepresentation)
            return [
                ("kty", "EC"), ("crv", "P-256"),
                ("x", .string(Base64.urlEncoded(point.prefix(32)))),
                ("y", .string(Base64.urlEncoded(point.suffix(32)))),
            ]
        case .rs256(let key):
            let numbers = try key.publicKey.getKeyPrimitives()
            return [
                ("kty", "RSA"),
                ("n", .string(Base64.urlEncoded(numbers.modulus))),
                ("e", .string(Base64.urlEncoded(numbers.publicExponent))),
            ]
        }
    }

    private func isSignature(_ bytes: [UInt8], of input: [UInt8]) -> Bool {
        switch self {
        case .es256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes) else {
                return false
            }
            return key.publicKey.isValidSignature(signature, for: input)
        case .rs256(let key):
            return key.publicKey.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: bytes),
                for: SHA256.hash(data: input),
                padding: .insecurePKCS1v1_5
            )
        }
    }

    private func signature(of input: [UInt8]) throws -> [UInt8] {
        switch self {
        case .es256(let key): Array(try key.signature(for: input).rawRepresentation)
        case .rs256(let key):
            Array(
                try key.signature(for: SHA256.hash(data: input), padding: .insecurePKCS1v1_5)
                    .rawRepresentation
            )
        }
    }
}

extension JSONObject {
    /// Sets every member of `replacements`.
    ///
    /// `null` removes a member.
    mutating func replace(with replacements: JSONObject) {
        for member in replacements.members {
            self[member.name] = member.value == .null ? nil : member.value
        }
    }
}
