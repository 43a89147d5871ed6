// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What an ID token of a pool must say.
struct CognitoIDToken {
    /// `nil`: not known, because the pool is not at Amazon's address.
    var issuer: String?
    var clientID: String

    /// Checks `token`, and at a refresh that it is about the same person as `original`.
    ///
    /// - Throws: `misbehaved` for a token that is not for this client or not of this pool, `identityChanged`
    ///   for one of another person or issuer.
    func check(_ token: String, against original: String?) throws(RefreshFailure) {
        guard let parts = JWTParts(token) else { throw problem("is malformed") }
        if let original = original.flatMap({ JWTParts($0) }) {
            do throws(IDTokenRules.Problem) {
                try IDTokenRules.checkIdentity(parts, as: original)
            } catch {
                throw RefreshFailure(kind: .identityChanged, message: error.message)
            }
        }
        let claims = parts.claims
        guard claims["token_use"] == "id" else { throw problem("is no ID token") }
        guard claims.audiences == [clientID.bytewise] else { throw problem("is for another client") }
        if let issuer, claims["iss"] != .string(issuer) { throw problem("is of another pool") }
    }

    private func problem(_ text: String) -> RefreshFailure {
        RefreshFailure(kind: .misbehaved, message: "the ID token \(text)")
    }
}
