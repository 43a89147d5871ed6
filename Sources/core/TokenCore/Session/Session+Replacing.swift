// SPDX-License-Identifier: MIT

/// The revocation of a login's tokens after another login has replaced it.
extension Session {
    /// Revokes a login that another one has replaced, or that came too late to replace it.
    ///
    /// If the server may end every login of the user with it, it is only erased.
    func endReplaced(_ login: Login) -> [Effect] {
        let obsolete = login.secrets.subtracting(heldSecrets)
        var request = Session.revocationRequest(for: login)
        // The ID token would end the user's session in the browser, which may belong to the other login.
        request.idToken = nil
        guard mayRevokeReplaced, request.secrets.isSubset(of: obsolete) else {
            return erase(obsolete)
        }
        return [.discard(request)] + erase(obsolete.subtracting(request.secrets))
    }

    /// Revokes tokens that came too late to be used.
    func endLate(_ request: RevocationRequest) -> [Effect] {
        mayRevokeLate ? [.discard(request)] : erase(request.secrets)
    }

    /// Whether a revocation ends nothing but the login of the revoked token.
    private var mayRevokeReplaced: Bool { policy.revokes == .token }

    /// Whether late tokens may be revoked.
    ///
    /// After a logout no login could end with them, nor can one where no user logs in.
    private var mayRevokeLate: Bool {
        if case .loggedOut(let ended) = state, progress == nil, !ended.isHereAlone { return true }
        return policy.startsByItself || mayRevokeReplaced
    }
}
