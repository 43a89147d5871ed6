// SPDX-License-Identifier: MIT

import TokenCore

/// What an ID token of a pool must say.
struct CognitoIDToken {
    /// `nil`: not known, because the pool is not at Amazon's address.
    var issuer: String?
    var clientID: String

    /// Checks `token`, and at a refresh that it is about the same person as `original`.
    ///
    /// - Throws: `misbehaved` for a token that is none of ours, `identityChanged` for somebody else's.
    func check(_ token: String, against original: String?) throws(RefreshFailure) {
        guard let parts = JWTParts(token) else { throw problem("is malformed") }
        let claims = parts.claims
        guard claims["token_use"] == "id" else { throw problem("is no ID token") }
        guard claims.audiences == [clientID.bytewise] else { throw problem("is for another client") }
        if let issuer, claims["iss"] != .string(issuer) { throw problem("is of another pool") }
        guard let original = original.flatMap({ JWTParts($0) }) else { return }
        for claim in ["sub", "iss"] where claims[claim] != original.claims[claim] {
            let message = "the ID token of the refresh has another \(claim) than the login's"
            throw RefreshFailure(kind: .identityChanged, message: message)
        }
    }

    private func problem(_ text: String) -> RefreshFailure {
        RefreshFailure(kind: .misbehaved, message: "the ID token \(text)")
    }
}
