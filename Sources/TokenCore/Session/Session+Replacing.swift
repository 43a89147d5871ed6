// SPDX-License-Identifier: MIT

/// What becomes of the tokens of a login, once another login has taken its place.
extension Session {
    /// Ends a login that another one has replaced, or that has come too late to replace it.
    ///
    /// Where the server may end every login of the user with it, it is only erased.
    func endReplaced(_ login: Login) -> [Effect] {
        let obsolete = login.secrets.subtracting(heldSecrets)
        var request = Session.revocationRequest(for: login)
        // The ID token would end the user's session in the browser, which the other login may be of.
        request.idToken = nil
        guard mayRevokeReplaced, request.secrets.isSubset(of: obsolete) else {
            return erase(obsolete)
        }
        return [.discard(request)] + erase(obsolete.subtracting(request.secrets))
    }

    /// Ends tokens that have come too late to be used.
    func endLate(_ request: RevocationRequest) -> [Effect] {
        mayRevokeLate ? [.discard(request)] : erase(request.secrets)
    }

    /// Whether a revocation ends nothing but the login whose token it is.
    private var mayRevokeReplaced: Bool { policy.revokes == .token }

    /// After a logout there is no login that could end with it, nor is there where nobody logs in.
    private var mayRevokeLate: Bool {
        if case .loggedOut(let ended) = state, progress == nil, !ended.isHereAlone { return true }
        return policy.startsByItself || mayRevokeReplaced
    }
}
