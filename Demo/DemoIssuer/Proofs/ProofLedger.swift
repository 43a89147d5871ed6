// SPDX-License-Identifier: MIT

/// What the issuer remembers about DPoP proofs.
struct ProofLedger: Sendable {
    /// The `jti` of every proof that was good but for its nonce.
    private(set) var seen: Set<String> = []
    /// The only nonce accepted, `nil` before the first (RFC 9449 §8).
    private(set) var newestNonce: String?

    /// Remembers the `jti` of a proof, which must be new.
    mutating func remember(_ name: String?) throws(ProofError) {
        guard let name, !name.isEmpty else { throw .unnamed }
        guard seen.insert(name).inserted else { throw .replayed }
    }

    /// Draws the nonce that ends all earlier ones.
    mutating func newNonce() -> String {
        let nonce = RandomText.token("nonce")
        newestNonce = nonce
        return nonce
    }
}
