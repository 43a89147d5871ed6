// SPDX-License-Identifier: MIT

/// The rules for the time at which a token is due for refresh, and at which it is no longer served.
package enum RefreshSchedule {
    /// The minimum lifetime of automatically refreshed tokens, 2 seconds.
    ///
    /// Tokens with a shorter lifetime are refreshed only on request. On a timer they would cause a request
    /// storm.
    package static let minimumAutomaticLifetime = Duration.seconds(2)

    /// The maximum jitter between the hosts of a fleet, 300 seconds.
    ///
    /// Otherwise it is a tenth of the lifetime.
    static let maximumJitter = Duration.seconds(300)

    /// Returns the time before expiry at which a token is refreshed: the policy's lead, at most a third of
    /// `lifetime`.
    ///
    /// For a shared session it is always a third. For that time, nobody notices an outage of the fleet's
    /// store.
    package static func lead(forLifetime lifetime: Duration, policy: SessionPolicy) -> Duration {
        guard policy.isShared else { return min(policy.refreshBefore, lifetime / 3) }
        // A reader requests a refresh only after the keepers have missed theirs.
        return policy.isReader ? lifetime / 6 : lifetime / 3
    }

    /// Returns the time at which `token` is refreshed automatically.
    ///
    /// It is the expiry minus the lead, minus the token's own jitter. The jitter makes sessions that started
    /// together drift apart. It never delays the refresh, and is limited by the policy.
    ///
    /// - Returns: the time, or `nil` without an expiry and for lifetimes below ``minimumAutomaticLifetime``.
    package static func dueTime(for token: AccessToken, policy: SessionPolicy) -> Instant? {
        guard let lifetime = token.lifetime else { return nil }
        return dueTime(since: token.obtainedAt, lifetime, jitter: token.jitter, policy: policy)
    }

    /// Returns the time at which the refresh token that expires with `end` is used automatically, to extend
    /// the login.
    ///
    /// - Returns: the time, or `nil` if a refresh does not extend the login, or one was made after the time.
    package static func dueTime(
        before end: LoginExpiry,
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
        guard lifetime >= minimumAutomaticLifetime else { return nil }
        let lead = lead(forLifetime: lifetime, policy: policy)
        // The hosts of a fleet must not refresh at the same moment. For others the configured time is exact.
        let window = policy.isShared ? min(lifetime / 10, maximumJitter) : lead / 20
        return start + (lifetime - lead - window * min(max(jitter, 0), 1))
    }

    /// Returns the minimum remaining validity of a token for a requester that specified `minimum`.
    ///
    /// An explicit minimum applies unchanged. The policy's default is capped at half of the lifetime, so that
    /// tokens with a short lifetime work at all.
    static func requiredValidity(
        of life: ValidityPeriod,
        minimum: Duration?,
        policy: SessionPolicy
    ) -> Duration {
        minimum ?? min(policy.minimumValidity, life.lifetime.map { $0 / 2 } ?? policy.minimumValidity)
    }
}
