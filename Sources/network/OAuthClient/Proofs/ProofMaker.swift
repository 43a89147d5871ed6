// SPDX-License-Identifier: MIT

import Crypto
import SecretMemory
import ServerSettings
import Text
import TokenCore

/// A maker of proofs with one session's key (RFC 9449 §4.2).
///
/// - Entry point: ``proof(for:at:showing:)``.
/// - May not: keep the private key outside sealed memory for longer than one signature.
struct ProofMaker: Sendable {
    var key: SecretID
    var memory: SealedMemory

    /// Returns a proof for one request.
    ///
    /// Every call makes a new one, because servers accept each only once.
    ///
    /// - Parameters:
    ///   - tokenRequest: The request.
    ///   - time: The current time by the server's clock.
    ///   - token: The access token in the request, or `nil` if there is none.
    /// - Returns: The value of the header `DPoP`.
    /// - Throws: `busy` while sealed memory is locked.
    func proof(
        for tokenRequest: ProofRequest,
        at time: WallTime,
        showing token: SecretID? = nil
    ) throws(RefreshFailure) -> String {
        var claims: JSONObject = [
            "jti": .string(RandomText.make()), "htm": .string(tokenRequest.method),
            "htu": .string(tokenRequest.target),
            "iat": .integer(time.secondsSince1970),
        ]
        if let nonce = tokenRequest.nonce { claims["nonce"] = .string(nonce) }
        do {
            if let token { claims["ath"] = .string(try hash(of: token)) }
            return try ProofKey(key, in: memory).sign(claims)
        } catch {
            throw .locked
        }
    }

    private func hash(of token: SecretID) throws -> String {
        try unsafe memory.open(token) { bytes in
            var hash = SHA256()
            unsafe hash.update(bufferPointer: bytes)
            return Base64.urlEncoded(hash.finalize())
        }
    }
}

extension EndpointURL {
    /// The URL in a proof, without the query (RFC 9449 §4.2 `htu`).
    ///
    /// An endpoint URL never has a fragment.
    var proofTarget: String {
        query == nil ? description : String(description.prefix { $0 != "?" })
    }
}
