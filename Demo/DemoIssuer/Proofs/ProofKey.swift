// SPDX-License-Identifier: MIT

import Crypto
import Text

/// The public key in the header of a DPoP proof, on the curve P-256 (RFC 7518 §6.2.1).
struct ProofKey {
    /// The SHA-256 thumbprint (RFC 7638 §3).
    let thumbprint: String
    private let publicKey: P256.Signing.PublicKey

    /// Parses the member `jwk`.
    ///
    /// A private key in it is a separate error (RFC 9449 §4.3).
    init(_ value: JSONValue?) throws(ProofError) {
        guard let members = value?.object else { throw .unusableKey }
        guard members["d"] == nil else { throw .privateKey }
        guard members["kty"] == "EC", members["crv"] == "P-256",
            let x = members["x"]?.string, let first = Base64.urlDecoded(x.utf8), first.count == 32,
            let y = members["y"]?.string, let second = Base64.urlDecoded(y.utf8), second.count == 32,
            let key = try? P256.Signing.PublicKey(rawRepresentation: first + second)
        else { throw .unusableKey }
        publicKey = key
        thumbprint = Base64.urlEncoded(
            SHA256.hash(data: Array(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#.utf8))
        )
    }

    /// Returns whether `signature`, which has 64 bytes, is this key's signature of `input` (RFC 7518 §3.4).
    func isSigner(of input: String, _ signature: [UInt8]) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
            return false
        }
        return publicKey.isValidSignature(signature, for: Array(input.utf8))
    }
}
