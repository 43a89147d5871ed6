// SPDX-License-Identifier: MIT

import Crypto
import Text

/// A DPoP proof with a valid signature (RFC 9449 §4.2), whose claims have yet to be compared with its
/// request.
struct PossessionProof {
    /// The maximum size of the whole text, in bytes.
    ///
    /// A legitimate proof has less than a tenth of it.
    static let maximumSize = 8192

    let key: ProofKey
    let claims: JSONObject

    /// Parses the value of a `DPoP` header, and checks everything that does not depend on the request.
    init(parsing text: String) throws(ProofError) {
        guard text.utf8.count <= PossessionProof.maximumSize else { throw .oversized }
        guard let token = CompactToken(text) else { throw .malformed }
        guard token.header["typ"] == "dpop+jwt" else { throw .wrongType }
        guard token.header["alg"] == "ES256" else { throw .wrongAlgorithm }
        guard token.header["crit"] == nil else { throw .criticalHeader }
        key = try ProofKey(token.header["jwk"])
        guard key.isSigner(of: token.input, token.signature) else { throw .badSignature }
        claims = token.claims
    }

    /// Compares the proof's claims with its request.
    ///
    /// `url` has no query, `accessToken` is `nil` at the token endpoint, and `now` is in seconds since 1970.
    func check(method: String, url: String, accessToken: String?, now: Int64) throws(ProofError) {
        guard claims["htm"]?.string == method else { throw .wrongMethod }
        guard claims["htu"]?.string == url else { throw .wrongURL }
        guard let issuedAt = claims["iat"]?.double, abs(issuedAt - Double(now)) <= 60 else {
            throw .wrongTime
        }
        guard let accessToken else { return }
        let hash = Base64.urlEncoded(SHA256.hash(data: Array(accessToken.utf8)))
        guard claims["ath"]?.string == hash else { throw .wrongAccessToken }
    }
}
