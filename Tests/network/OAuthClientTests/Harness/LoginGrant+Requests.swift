// SPDX-License-Identifier: MIT

import TokenCore

extension LoginGrant {
    /// Returns the first refresh request of this login, with its own renewal unless another one is given.
    func refreshRequest(_ renewal: RenewalMethod? = nil) -> RefreshRequest {
        RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: renewal ?? self.renewal,
            variant: .primary,
            idToken: tokens.idToken?.secret,
            accessToken: tokens.accessToken,
            tokenEndpoint: tokenEndpoint
        )
    }

    /// The revocation request for a logout of this login, or `nil` if it has no refresh token.
    var revocationRequest: RevocationRequest? {
        guard case .refreshToken(let token) = renewal else { return nil }
        return RevocationRequest(
            refreshToken: token,
            accessToken: tokens.accessToken,
            tokenEndpoint: tokenEndpoint
        )
    }
}
