// SPDX-License-Identifier: MIT

/// The issuer's record of DPoP proofs.
struct ProofLedger: Sendable {
    /// The `jti` of every proof that was valid, apart from its nonce.
    private(set) var seen: Set<String> = []
    /// The only accepted nonce, or `nil` before the first one was issued (RFC 9449 §8).
    private(set) var newestNonce: String?

    /// Records the `jti` of a proof, which must be new.
    mutating func remember(_ name: String?) throws(ProofError) {
        guard let name, !name.isEmpty else { throw .unnamed }
        guard seen.insert(name).inserted else { throw .replayed }
    }

    /// Creates a nonce, which invalidates all earlier ones.
    mutating func newNonce() -> String {
        let nonce = RandomText.token("nonce")
        newestNonce = nonce
        return nonce
    }
}
