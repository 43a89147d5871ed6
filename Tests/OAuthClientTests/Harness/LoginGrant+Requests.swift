// SPDX-License-Identifier: MIT

import TokenCore

extension LoginGrant {
    /// The first refresh of this login, by its own renewal unless another one is given.
    func refreshRequest(_ renewal: Renewal? = nil) -> RefreshRequest {
        RefreshRequest(
            attempt: AttemptNumber(rawValue: 1),
            renewal: renewal ?? self.renewal,
            variant: .primary,
            idToken: tokens.idToken?.secret,
            accessToken: tokens.accessToken,
            tokenEndpoint: tokenEndpoint
        )
    }

    /// What a logout of this login revokes; `nil` when it has no refresh token.
    var revocationRequest: RevocationRequest? {
        guard case .refreshToken(let token) = renewal else { return nil }
        return RevocationRequest(
            refreshToken: token,
            accessToken: tokens.accessToken,
            tokenEndpoint: tokenEndpoint
        )
    }
}
