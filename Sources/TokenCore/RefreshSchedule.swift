// SPDX-License-Identifier: MIT

/// When a token is due for refresh, and when it is too old to be handed out.
package enum RefreshSchedule {
    /// Shorter-lived tokens are refreshed only when somebody asks: on a timer they would mean a request storm.
    package static let shortestAutomaticLifetime = Duration.seconds(2)

    /// The jitter window is a tenth of the lifetime, but not more than this.
    package static let longestJitter = Duration.seconds(300)

    /// How long before its expiry `token` is refreshed: the policy's lead, at most a third of the lifetime.
    package static func lead(for token: AccessToken, policy: SessionPolicy) -> Duration {
        min(policy.refreshBefore, token.lifetime / 3)
    }

    /// When `token` is refreshed without being asked for.
    ///
    /// Expiry − lead, brought forward by the token's own jitter so that sessions that started together
    /// drift apart; never later. `nil` for lifetimes under ``shortestAutomaticLifetime``.
    package static func dueTime(for token: AccessToken, policy: SessionPolicy) -> Instant? {
        guard token.lifetime >= shortestAutomaticLifetime else { return nil }
        let window = min(token.lifetime / 10, longestJitter)
        let jitter = window * min(max(token.jitter, 0), 1)
        return token.expiresAt - lead(for: token, policy: policy) - jitter
    }

    /// The least remaining lifetime with which `token` is handed out to a requester who asked for `minimum`.
    ///
    /// An explicit minimum counts as it is; the policy's default is capped at half of the lifetime, so that
    /// short tokens work at all.
    package static func requiredValidity(
        of token: AccessToken,
        minimum: Duration?,
        policy: SessionPolicy
    ) -> Duration {
        minimum ?? min(policy.minimumValidity, token.lifetime / 2)
    }
}
