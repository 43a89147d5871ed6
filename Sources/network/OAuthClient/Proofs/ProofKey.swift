// SPDX-License-Identifier: MIT

import Crypto
import SecretMemory
import Text
import TokenCore

/// A key pair whose possession a client proves with every request (RFC 9449 §4), for ES256 (RFC 7518 §3.4).
///
/// The value lives for one signature. Between signatures, the private key is in sealed memory, as 32 bytes.
struct ProofKey {
    /// The algorithm that every server with DPoP supports.
    static let algorithm = "ES256"

    private let key: P256.Signing.PrivateKey

    /// Creates a key and seals it.
    ///
    /// - Returns: The name of the key in `memory`.
    /// - Throws: `busy` while sealed memory is locked.
    static func make(in memory: SealedMemory) throws(RefreshFailure) -> SecretID {
        let key = P256.Signing.PrivateKey()
        var bytes = Array(key.rawRepresentation)
        defer { bytes.wipe() }
        do {
            return try unsafe bytes.withUnsafeBytes { unsafe try memory.seal($0, as: .proofKey) }
        } catch {
            throw .locked
        }
    }

    /// Opens a key that ``make(in:)`` sealed.
    ///
    /// - Throws: `busy` while sealed memory is locked.
    init(_ secret: SecretID, in memory: SealedMemory) throws(RefreshFailure) {
        do {
            key = try unsafe memory.open(secret) { unsafe try P256.Signing.PrivateKey(rawRepresentation: $0) }
        } catch {
            throw .locked
        }
    }

    /// The coordinates of the public key in base64url.
    private var coordinates: (x: String, y: String) {
        let point = Array(key.publicKey.rawRepresentation)
        return (Base64.urlEncoded(point.prefix(32)), Base64.urlEncoded(point.suffix(32)))
    }

    /// Returns a public key (RFC 7518 §6.2) with exactly the members, and in the order, that RFC 7638 §3
    /// hashes.
    private static func jwk(x: String, y: String) -> JSONValue {
        ["crv": "P-256", "kty": "EC", "x": .string(x), "y": .string(y)]
    }

    /// The value of `dpop_jkt` for the key (RFC 9449 §10).
    var thumbprint: String {
        ProofKey.thumbprint(x: coordinates.x, y: coordinates.y)
    }

    /// Returns the thumbprint of a public key (RFC 7638).
    static func thumbprint(x: String, y: String) -> String {
        Base64.urlEncoded(SHA256.hash(data: jwk(x: x, y: y).serialized))
    }

    /// Signs `claims` as a proof (RFC 9449 §4.2).
    func sign(_ claims: JSONObject) throws -> String {
        let jwk = ProofKey.jwk(x: coordinates.x, y: coordinates.y)
        let header: JSONObject = ["typ": "dpop+jwt", "alg": .string(ProofKey.algorithm), "jwk": jwk]
        let text = JWTParts.signedText(header, claims)
        let signature = try key.signature(for: Array(text.utf8))
        return text + "." + Base64.urlEncoded(signature.rawRepresentation)
    }
}
