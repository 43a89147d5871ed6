// SPDX-License-Identifier: MIT

/// When a token is due for refresh, and when it is too old to be handed out.
package enum RefreshSchedule {
    /// Shorter-lived tokens are refreshed only when somebody asks: on a timer they would mean a request storm.
    package static let shortestAutomaticLifetime = Duration.seconds(2)

    /// The hosts of a fleet spread over a tenth of the lifetime, but not more than this.
    package static let longestJitter = Duration.seconds(300)

    /// How long before its end a token that lives `lifetime` is refreshed: the policy's lead, at most a third of it.
    ///
    /// A third in any case for a session of a fleet: so long the fleet's store may be away without anybody noticing.
    package static func lead(forLifetime lifetime: Duration, policy: SessionPolicy) -> Duration {
        guard policy.isShared else { return min(policy.refreshBefore, lifetime / 3) }
        // A reader asks only once the keepers have let the time pass.
        return policy.isReader ? lifetime / 6 : lifetime / 3
    }

    /// When `token` is refreshed without being asked for.
    ///
    /// Expiry − lead, brought forward by the token's own jitter so that sessions that started together
    /// drift apart; never later, and by no more than the spread of the policy. `nil` for lifetimes under
    /// ``shortestAutomaticLifetime``.
    package static func dueTime(for token: AccessToken, policy: SessionPolicy) -> Instant? {
        guard let lifetime = token.lifetime else { return nil }
        return dueTime(since: token.obtainedAt, lifetime, jitter: token.jitter, policy: policy)
    }

    /// When the refresh token that ends with `end` is used without being asked for, so that the login goes on.
    ///
    /// - Returns: `nil` where that is of no use: a refresh does not move the end, or one has come since it
    ///   was due.
    package static func dueTime(
        before end: LoginEnd,
        renewing token: AccessToken,
        policy: SessionPolicy
    ) -> Instant? {
        guard end.mobility != .fixed,
            let due = dueTime(since: end.since, end.lifetime, jitter: token.jitter, policy: policy)
        else { return nil }
        return token.obtainedAt < due ? due : nil
    }

    private static func dueTime(
        since start: Instant,
        _ lifetime: Duration,
        jitter: Double,
        policy: SessionPolicy
    ) -> Instant? {
        guard lifetime >= shortestAutomaticLifetime else { return nil }
        let lead = lead(forLifetime: lifetime, policy: policy)
        // The hosts of a fleet are not to refresh at one moment; for others the time that was asked for is exact.
        let window = policy.isShared ? min(lifetime / 10, longestJitter) : lead / 20
        return start + (lifetime - lead - window * min(max(jitter, 0), 1))
    }

    /// The least remaining lifetime with which a token is handed out to a requester who asked for `minimum`.
    ///
    /// An explicit minimum counts as it is; the policy's default is capped at half of the lifetime, so that
    /// short tokens work at all.
    package static func requiredValidity(
        of life: TokenValidity,
        minimum: Duration?,
        policy: SessionPolicy
    ) -> Duration {
        minimum ?? min(policy.minimumValidity, life.lifetime.map { $0 / 2 } ?? policy.minimumValidity)
    }
}
