// SPDX-License-Identifier: MIT

/// Waits between refresh attempts after failures; pure functions of what happened so far.
package enum RetrySchedule {
    /// Backoff after `failures` failures in a row (at least 1).
    ///
    /// `U(0.5, 1) × min(cap, 2 s × 2ⁿ)`: 2, 4, 8, 16, … seconds, where chance shortens each by up to half so
    /// that many sessions of one issuer do not come back together.
    ///
    /// - Parameters:
    ///   - failures: failures in a row, at least 1.
    ///   - cap: the longest wait, see ``cap(tokenExpiresAt:now:)``.
    ///   - jitter: in `0..<1`, drawn by the caller.
    /// - Returns: how long to wait before the next attempt.
    package static func backoff(failures: Int, cap: Duration, jitter: Double) -> Duration {
        let doublings = min(max(failures, 1) - 1, 20)
        let delay = min(cap, .seconds(2) * (1 << doublings))
        return delay * (0.5 + 0.5 * jitter)
    }

    /// The longest wait: a minute while a token is good, then 15 minutes, and an hour from a day after its end.
    package static func cap(tokenExpiresAt: Instant?, now: Instant) -> Duration {
        guard let tokenExpiresAt else { return .seconds(15 * 60) }
        if tokenExpiresAt > now { return .seconds(60) }
        return now - tokenExpiresAt < .seconds(24 * 3600) ? .seconds(15 * 60) : .seconds(3600)
    }

    /// Replays of a refresh token whose answer was lost: at once, after 2 s, after 8 s.
    ///
    /// All within 30 s, the commonest grace window; a later replay may be taken for theft.
    package static let replayDelays: [Duration] = [.zero, .seconds(2), .seconds(8)]

    /// After the quick replays the next one waits until the access token has this little left.
    package static let lastReplayBeforeExpiry = Duration.seconds(60)

    /// Waits after a program or file of the configuration did not work: short enough for a keyring that is unlocked after the
    /// boot, and long enough for a program that shows a dialog.
    package static let helperPauses: [Duration] = [
        .seconds(20), .seconds(60), .seconds(300), .seconds(900),
    ]

    /// The wait after `failures` of them in a row, at least 1.
    static func helperPause(after failures: Int) -> Duration {
        helperPauses[min(max(failures, 1), helperPauses.count) - 1]
    }

    /// Suspended sessions are tried again by themselves this often.
    package static let suspendedRetry = Duration.seconds(6 * 3600)

    /// When a client that the server rejects is tried again, counted from its first rejection: after 15 s, 1, 2 and 5
    /// minutes, and once more when ten minutes are over, after which the session is suspended.
    ///
    /// A server that is being redeployed rejects every client for a while.
    package static let clientRetries: [Duration] = [15, 75, 195, 495, 600].map { .seconds($0) }

    /// A session that is suspended because its client was rejected is tried again this often.
    package static let rejectedClientRetry = Duration.seconds(15 * 60)

    /// A role that the person was refused is asked for again after this long: somebody may have assigned it.
    package static let refusedRoleRetry = Duration.seconds(60)

    /// A suspended session whose retry failed for another, temporary reason is tried again after at least
    /// this long.
    package static let unconfirmedFixRetry = Duration.seconds(60)

    /// A dead grant is confirmed once after 30–60 s: one lagging replica must not end a session.
    package static func confirmationDelay(jitter: Double) -> Duration {
        .seconds(30) + .seconds(30) * jitter
    }

    /// A token refused without a reason is tried again this often.
    package static let unexplainedRetry = Duration.seconds(3600)

    /// Refusals without a reason that are to be counted are at least so far apart.
    package static let refusalPause = Duration.seconds(31)

    /// The wait after a refusal without a reason while the access token is good, `left` before its end.
    ///
    /// The server may only have been asked too early: half of what is left, so that the tries move towards the end of
    /// the token's life; one 15 s before the end, because there are servers that accept a refresh only in the last 30 s;
    /// and one just after it.
    package static func pauseAfterRefusal(left: Duration) -> Duration {
        switch left {
        case ..<(.seconds(20)): left + .seconds(1)
        case ..<(.seconds(60)): left - .seconds(15)
        default: min(left / 2, unexplainedRetry)
        }
    }

    /// How long to wait before replacing a token that replaced a refused one and was refused too.
    ///
    /// - Parameters:
    ///   - refusedBefore: how many before it were refused as soon, at least 1.
    ///   - isRepeat: the authorization server gave out the refused token again, so asking is of little use.
    /// - Returns: 10, 20, 40, 60, 60, … seconds; where the token itself comes again, up to 15 minutes.
    package static func replacementPause(refusedBefore: Int, isRepeat: Bool) -> Duration {
        let doublings = min(max(refusedBefore, 1) - 1, 10)
        return min(.seconds(isRepeat ? 15 * 60 : 60), .seconds(10) * (1 << doublings))
    }

    /// How long a token that was handed out in doubt has to stay unrefused.
    package static let trial = Duration.seconds(60)

    /// The last moment for a retry that must come before `end`.
    ///
    /// Ten seconds before it; within those ten seconds, after half of what is left, so that a few more tries
    /// fit in.
    package static func lastTry(before end: Instant, now: Instant) -> Instant {
        let margin = end - .seconds(10)
        return margin > now ? margin : now + max(.seconds(1), (end - now) / 2)
    }

    /// How long a dead session's refresh token is kept, sealed and unused.
    package static let quarantine = Duration.seconds(30 * 24 * 3600)

    /// After a reboot no login ends, and no quarantined secret is erased, before the wall clock has had this long to be set.
    package static let wallClockGrace = Duration.seconds(900)

    /// How long an unanswered revocation is repeated.
    package static let revocationPersistence = Duration.seconds(24 * 3600)

    /// A record that is not safely on disk is written again after 5, 10, 20, 40, 60, 60, … seconds.
    package static func recommitDelay(failures: Int) -> Duration {
        min(.seconds(60), .seconds(5) * (1 << min(max(failures, 1) - 1, 4)))
    }
}
