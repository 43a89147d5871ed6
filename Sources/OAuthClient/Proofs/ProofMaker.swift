// SPDX-License-Identifier: MIT

import Crypto
import SealedStore
import Text
import TokenCore

/// Makes proofs with one session's key (RFC 9449 §4.2).
struct ProofMaker: Sendable {
    var key: SecretID
    var memory: SealedMemory

    /// A proof for one request; every call makes a new one, since servers accept each only once.
    ///
    /// - Parameters:
    ///   - demand: the request.
    ///   - time: now, as the server sees it.
    ///   - token: the access token that the request shows, if any.
    /// - Returns: the value of the header `DPoP`.
    /// - Throws: `busy` while sealed memory is locked.
    func proof(
        for demand: ProofRequest,
        at time: WallTime,
        showing token: SecretID? = nil
    ) throws(RefreshFailure) -> String {
        var claims: JSONObject = [
            "jti": .string(RandomText.make()), "htm": .string(demand.method), "htu": .string(demand.target),
            "iat": .integer(time.secondsSince1970),
        ]
        if let nonce = demand.nonce { claims["nonce"] = .string(nonce) }
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
    /// The URL as a proof names it: without the query (RFC 9449 §4.2 `htu`); it never has a fragment.
    var proofTarget: String {
        query == nil ? description : String(description.prefix { $0 != "?" })
    }
}
