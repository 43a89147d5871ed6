// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The requirements for an ID token of a pool.
struct CognitoIDTokenRules {
    /// The required issuer, or `nil` if it is unknown because the pool is not at Amazon's address.
    var issuer: String?
    var clientID: String

    /// Checks `token`.
    ///
    /// At a refresh, it must belong to the same user as `original`.
    ///
    /// - Throws: `misbehaved` if the token is for another client or from another pool, or `identityChanged`
    ///   if it is for another user or from another issuer.
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
        guard claims["token_use"] == "id" else { throw problem("is not an ID token") }
        guard claims.audiences == [clientID.bytewise] else { throw problem("is for another client") }
        if let issuer, claims["iss"] != .string(issuer) { throw problem("is from another pool") }
    }

    private func problem(_ text: String) -> RefreshFailure {
        RefreshFailure(kind: .misbehaved, message: "the ID token \(text)")
    }
}
