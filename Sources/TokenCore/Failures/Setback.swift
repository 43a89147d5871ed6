// SPDX-License-Identifier: MIT

/// Failed attempts in a row, and when the next one is planned.
struct Setback: Equatable, Sendable {
    var failures: Int
    /// Why the row began, or was continued before its time.
    var reason: RefreshReason
    var latest: RefreshFailure
    var nextTry: Instant
    /// Lost answers in this row; counts through ``RetrySchedule/replayDelays``.
    var lostAnswers: Int
    /// Refusals without a reason in this row, and when the first came.
    var unexplained: Int
    var firstUnexplained: Instant?

    /// The row after one more failure.
    ///
    /// The next try comes before `loginEnd`, where the refresh token dies, unless the server asked for a
    /// longer wait.
    static func following(
        _ previous: Setback?,
        _ failure: RefreshFailure,
        of reason: RefreshReason,
        tokenExpiresAt: Instant?,
        loginEnd: Instant?,
        jitter: Double,
        now: Instant
    ) -> Setback {
        var setback = Setback(
            failures: (previous?.failures ?? 0) + 1,
            reason: reason,
            latest: failure,
            nextTry: now,
            lostAnswers: previous?.lostAnswers ?? 0,
            unexplained: previous?.unexplained ?? 0,
            firstUnexplained: previous?.firstUnexplained
        )
        if failure.kind.consequences.tokenUse == .unanswered { setback.lostAnswers += 1 }
        if failure.kind == .unexplained {
            setback.unexplained += 1
            setback.firstUnexplained = setback.firstUnexplained ?? now
        }
        setback.nextTry = now + setback.delay(tokenExpiresAt: tokenExpiresAt, jitter: jitter, now: now)
        if let loginEnd, loginEnd > now {
            setback.nextTry = min(setback.nextTry, RetrySchedule.lastTry(before: loginEnd, now: now))
        }
        if let retryAfter = failure.retryAfter {
            setback.nextTry = max(setback.nextTry, now + retryAfter * (1 + 0.1 * jitter))
        }
        return setback
    }

    /// Refused without a reason three times over at least a minute: as good as an answer.
    func isRefusal(at now: Instant) -> Bool {
        guard let firstUnexplained else { return false }
        return unexplained >= 3 && now - firstUnexplained >= .seconds(60)
    }

    /// What follows from the latest failure.
    var consequences: FailureConsequences { latest.kind.consequences }

    private func delay(tokenExpiresAt: Instant?, jitter: Double, now: Instant) -> Duration {
        if let replay = replayDelay(tokenExpiresAt: tokenExpiresAt, now: now) { return replay }
        let cap = RetrySchedule.cap(tokenExpiresAt: tokenExpiresAt, now: now)
        let backoff = RetrySchedule.backoff(failures: failures, cap: cap, jitter: jitter)
        return max(backoff, consequences.leastPause, latest.leastPause ?? .zero)
    }

    /// The replay schedule: 0, 2, 8 s, then a minute before expiry, then the ordinary backoff.
    private func replayDelay(tokenExpiresAt: Instant?, now: Instant) -> Duration? {
        guard lostAnswers > 0, consequences.tokenUse == .unanswered else { return nil }
        // An answer that is nonsense is replayed once; it did arrive, so the next ones are not urgent.
        let quick = latest.kind == .ambiguous ? RetrySchedule.replayDelays.count : 1
        if lostAnswers <= quick { return RetrySchedule.replayDelays[lostAnswers - 1] }
        guard let tokenExpiresAt, lostAnswers == quick + 1 else { return nil }
        let last = tokenExpiresAt - RetrySchedule.lastReplayBeforeExpiry
        return last > now ? last - now : nil
    }
}
