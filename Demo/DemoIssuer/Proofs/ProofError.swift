// SPDX-License-Identifier: MIT

/// The reason a DPoP proof is rejected.
enum ProofError: String, Error {
    case missing = "there is no DPoP header"
    case repeated = "there is more than one DPoP header"
    case oversized = "the proof is longer than 8 KiB"
    case malformed = "the proof is no compact JWT"
    case wrongType = "typ is not dpop+jwt"
    case wrongAlgorithm = "alg is not ES256"
    case criticalHeader = "crit names something unknown"
    case unusableKey = "jwk is no public key on P-256"
    case privateKey = "jwk holds a private key"
    case badSignature = "the signature does not verify"
    case wrongMethod = "htm is not the method of the request"
    case wrongURL = "htu is not the URL of the request"
    case wrongTime = "iat is more than 60 seconds away"
    case wrongAccessToken = "ath is not the hash of the access token"
    case unnamed = "jti is missing"
    case replayed = "jti was seen before"
    case staleNonce = "nonce is not the newest one"

    /// The error code of RFC 9449 §5, §7.1, §8 and §9.
    var code: String { self == .staleNonce ? "use_dpop_nonce" : "invalid_dpop_proof" }
}
