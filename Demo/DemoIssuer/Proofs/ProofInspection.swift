// SPDX-License-Identifier: MIT

extension IssuerState {
    private static let nonceHeader = "DPoP-Nonce"

    /// The thumbprint of the key a token request proves (RFC 9449 §5); `nil`: proofs are off, or it has none.
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

    /// The proof of a request, once it has been found good (RFC 9449 §4.3).
    ///
    /// Its `jti` counts as seen even when its nonce is stale: a retry has to bring a new proof.
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

    /// The header that hands out the next nonce after a token request with a good proof; none unless demanded.
    mutating func nextNonce(afterProofOf key: String?) -> [IssuerResponse.Header] {
        guard key != nil, settings.demandsDPoPNonce else { return [] }
        return [IssuerResponse.Header(name: IssuerState.nonceHeader, value: proofs.newNonce())]
    }

    /// The header that tells a refused client which nonce to use.
    mutating func freshNonce(after refusal: ProofError) -> [IssuerResponse.Header] {
        guard refusal == .staleNonce else { return [] }
        return [IssuerResponse.Header(name: IssuerState.nonceHeader, value: proofs.newNonce())]
    }

    private func accepts(nonce: String?) -> Bool {
        guard !settings.refusesEveryNonce else { return false }
        return !settings.demandsDPoPNonce || (nonce != nil && nonce == proofs.newestNonce)
    }
}
