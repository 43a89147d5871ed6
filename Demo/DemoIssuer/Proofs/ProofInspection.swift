// SPDX-License-Identifier: MIT

extension IssuerState {
    private static let nonceHeader = "DPoP-Nonce"

    /// Returns the thumbprint of the key that a token request proves (RFC 9449 §5).
    ///
    /// - Returns: `nil` if proofs are ignored, or if an optional proof is missing.
    mutating func provenKey(_ request: IssuerRequest) throws(OAuthErrorResponse) -> String? {
        switch settings.dpop {
        case .off: return nil
        case .allowed where request.headers(named: "dpop").isEmpty: return nil
        case .allowed, .required: break
        }
        do {
            return try proof(in: request, accessToken: nil).key.thumbprint
        } catch {
            throw OAuthErrorResponse(
                code: error.code,
                description: error.rawValue,
                headers: freshNonce(after: error)
            )
        }
    }

    /// Returns the valid proof of a request (RFC 9449 §4.3).
    ///
    /// Its `jti` counts as used even if its nonce is stale, so a retry must send a new proof.
    mutating func proof(
        in request: IssuerRequest,
        accessToken: String?
    ) throws(ProofError) -> PossessionProof {
        let texts = request.headers(named: "dpop")
        guard let text = texts.first else { throw .missing }
        guard texts.count == 1 else { throw .repeated }
        let proof = try PossessionProof(parsing: text)
        try proof.check(
            method: request.method,
            url: issuer + request.path,
            accessToken: accessToken,
            now: WallClock.seconds
        )
        try proofs.remember(proof.claims["jti"]?.string)
        guard accepts(nonce: proof.claims["nonce"]?.string) else { throw .staleNonce }
        return proof
    }

    /// Returns the header with the next nonce after a token request with a valid proof, if nonces are
    /// required.
    mutating func nextNonce(afterProofOf key: String?) -> [IssuerResponse.Header] {
        guard key != nil, settings.demandsDPoPNonce else { return [] }
        return [IssuerResponse.Header(name: IssuerState.nonceHeader, value: proofs.newNonce())]
    }

    /// Returns the header with the nonce that a rejected client must use.
    mutating func freshNonce(after refusal: ProofError) -> [IssuerResponse.Header] {
        guard refusal == .staleNonce else { return [] }
        return [IssuerResponse.Header(name: IssuerState.nonceHeader, value: proofs.newNonce())]
    }

    private func accepts(nonce: String?) -> Bool {
        guard !settings.refusesEveryNonce else { return false }
        return !settings.demandsDPoPNonce || (nonce != nil && nonce == proofs.newestNonce)
    }
}
