// SPDX-License-Identifier: MIT

/// The delays between refresh attempts after failures, as pure functions of the preceding events.
package enum RetrySchedule {
    /// Returns the backoff after `failures` consecutive failures.
    ///
    /// `U(0.5, 1) × min(cap, 2 s × 2ⁿ)`: 2, 4, 8, 16, … seconds, each randomly shortened by up to half so
    /// that many sessions of one issuer do not return together.
    ///
    /// - Parameters:
    ///   - failures: the number of consecutive failures, at least 1.
    ///   - cap: the maximum delay, see ``cap(tokenExpiresAt:now:)``.
    ///   - jitter: a random number in `0..<1`, drawn by the caller.
    /// - Returns: the delay before the next attempt.
    package static func backoff(failures: Int, cap: Duration, jitter: Double) -> Duration {
        let doublings = min(max(failures, 1) - 1, 20)
        let delay = min(cap, .seconds(2) * (1 << doublings))
        return delay * (0.5 + 0.5 * jitter)
    }

    /// Returns the maximum backoff: a minute while a token is valid, 15 minutes for a day after its expiry,
    /// then an hour.
    package static func cap(tokenExpiresAt: Instant?, now: Instant) -> Duration {
        guard let tokenExpiresAt else { return .seconds(15 * 60) }
        if tokenExpiresAt > now { return .seconds(60) }
        return now - tokenExpiresAt < .seconds(24 * 3600) ? .seconds(15 * 60) : .seconds(3600)
    }

    /// The delays of replays of a refresh token whose response was lost: 0, 2 and 8 seconds.
    ///
    /// All are within 30 s, the most common grace window. A server may take a later replay for theft.
    static let replayDelays: [Duration] = [.zero, .seconds(2), .seconds(8)]

    /// The remaining validity of the access token at which the replay after the quick ones is sent, 60
    /// seconds.
    static let lastReplayBeforeExpiry = Duration.seconds(60)

    /// The delays after a configured program or file failed.
    ///
    /// They are short enough for a keyring that is unlocked after the boot, and long enough for a program
    /// that shows a dialog.
    static let helperPauses: [Duration] = [
        .seconds(20), .seconds(60), .seconds(300), .seconds(900),
    ]

    /// Returns the delay after `failures` consecutive failures of a program or file, at least 1.
    package static func helperPause(after failures: Int) -> Duration {
        helperPauses[min(max(failures, 1), helperPauses.count) - 1]
    }

    /// The interval at which suspended sessions are retried automatically, 6 hours.
    static let suspendedRetry = Duration.seconds(6 * 3600)

    /// The times of retries after the server first rejected the client: 15, 75, 195, 495 and 600 seconds.
    ///
    /// After the last one fails, the session is suspended. A server rejects every client for a while during a
    /// redeployment.
    static let clientRetries: [Duration] = [15, 75, 195, 495, 600].map { .seconds($0) }

    /// The interval at which a session suspended by a rejected client is retried, 15 minutes.
    static let rejectedClientRetry = Duration.seconds(15 * 60)

    /// The delay after which a denied role is requested again, 60 seconds.
    ///
    /// It may have been assigned meanwhile.
    static let refusedRoleRetry = Duration.seconds(60)

    /// The minimum delay after the retry of a suspended session failed for another, temporary reason, 60
    /// seconds.
    static let unconfirmedFixRetry = Duration.seconds(60)

    /// Returns the delay before an invalid grant is confirmed, 30–60 s.
    ///
    /// One lagging replica must not end a session.
    static func confirmationDelay(jitter: Double) -> Duration {
        .seconds(30) + .seconds(30) * jitter
    }

    /// The interval at which a token rejected without a reason is tried again, an hour.
    static let unexplainedRetry = Duration.seconds(3600)

    /// The minimum interval between rejections without a reason that count, 31 seconds.
    static let refusalPause = Duration.seconds(31)

    /// Returns the delay after a rejection without a reason while the access token is valid for `left`.
    ///
    /// The server may reject only early refreshes. So the delay is half of `left`, and attempts move towards
    /// the expiry. One is 15 s before expiry, because some servers accept a refresh only in the last 30 s.
    /// One is just after it.
    static func pauseAfterRefusal(left: Duration) -> Duration {
        switch left {
        case ..<(.seconds(20)): left + .seconds(1)
        case ..<(.seconds(60)): left - .seconds(15)
        default: min(left / 2, unexplainedRetry)
        }
    }

    /// Returns the delay before replacing a token that replaced a rejected one and was rejected too.
    ///
    /// - Parameters:
    ///   - refusedBefore: the number of preceding tokens rejected as soon, at least 1.
    ///   - isRepeat: whether the authorization server issued the rejected token again, so that a request
    ///     hardly helps.
    /// - Returns: 10, 20, 40, 60, 60, … seconds, or up to 15 minutes if the same token was issued again.
    package static func replacementPause(refusedBefore: Int, isRepeat: Bool) -> Duration {
        let doublings = min(max(refusedBefore, 1) - 1, 10)
        return min(.seconds(isRepeat ? 15 * 60 : 60), .seconds(10) * (1 << doublings))
    }

    /// The time during which a token served in doubt must not be rejected, 60 seconds.
    static let trial = Duration.seconds(60)

    /// The time a request waits for a token to replace one in doubt, 1.5 seconds.
    ///
    /// It is longer than token endpoints usually take.
    static let waitInDoubt = Duration.milliseconds(1500)

    /// Returns the last moment for a retry that must precede `end`.
    ///
    /// It is ten seconds before `end`. Within those ten seconds it is after half of the rest, so that a few
    /// more attempts fit in.
    static func lastTry(before end: Instant, now: Instant) -> Instant {
        let margin = end - .seconds(10)
        return margin > now ? margin : now + max(.seconds(1), (end - now) / 2)
    }

    /// The time for which an ended session's refresh token is kept sealed and unused, 30 days.
    static let quarantine = Duration.seconds(30 * 24 * 3600)

    /// The time for which the wall clock may be corrected after a reboot, 900 seconds.
    ///
    /// Before that, no login ends and no quarantined secret is erased.
    static let wallClockGrace = Duration.seconds(900)

    /// The time during which a failed revocation is retried, 24 hours.
    package static let revocationPersistence = Duration.seconds(24 * 3600)

    /// Returns the delay before a record that is not durable is written again: 5, 10, 20, 40, 60, 60, …
    /// seconds.
    static func recommitDelay(failures: Int) -> Duration {
        min(.seconds(60), .seconds(5) * (1 << min(max(failures, 1) - 1, 4)))
    }
}
