// SPDX-License-Identifier: MIT

import Crypto
import Text

@testable import OAuthClient

/// A proof of possession as a server reads it (RFC 9449 §4.3).
struct ReadProof {
    let header: JSONObject
    let claims: JSONObject
    let jwk: JSONObject
    /// The signature is by the key in the header.
    let isSigned: Bool

    init?(_ text: String?) {
        guard let parts = text.flatMap(JWTParts.init), let jwk = parts.header["jwk"]?.object,
            let x = jwk["x"]?.string.flatMap({ Base64.urlDecoded($0.utf8) }),
            let y = jwk["y"]?.string.flatMap({ Base64.urlDecoded($0.utf8) }),
            let key = try? P256.Signing.PublicKey(rawRepresentation: x + y),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: parts.signature)
        else { return nil }
        header = parts.header
        claims = parts.claims
        self.jwk = jwk
        isSigned = key.isValidSignature(signature, for: parts.signedBytes)
    }

    /// SHA-256 in base64url, as `ath` and thumbprints are written.
    static func digest(_ text: String) -> String {
        Base64.urlEncoded(SHA256.hash(data: Array(text.utf8)))
    }
}
