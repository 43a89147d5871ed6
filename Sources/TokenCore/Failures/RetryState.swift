// SPDX-License-Identifier: MIT

/// Failed attempts in a row, and when the next one is planned.
struct RetryState: Equatable, Sendable {
    var failures = 0
    /// Why the row began, or was continued before its time.
    var reason: RefreshReason
    var latest: RefreshFailure
    var nextTry: Instant
    /// How many failures of the class of ``latest`` have followed each other.
    var repeated = 1
    /// Lost answers in this row; counts through ``RetrySchedule/replayDelays``.
    var lostAnswers = 0
    /// Refusals without a reason in this row.
    var refusals = RefusalStreak()
    /// When the server first rejected the client in this row.
    var clientRejectedAt: Instant?

    /// What the next try depends on beside the failure itself.
    struct Circumstances {
        /// When the latest token ends, good or not.
        var tokenExpiresAt: Instant?
        /// When the token that is served ends; `nil`: none is.
        var servedUntil: Instant?
        /// When the refresh token dies.
        var loginEnd: Instant?
        /// The attempt sent the refresh token to renew the login's own token, so that a refusal is about the login.
        var isAboutLogin = true
        /// When the attempt began; before the time that was planned, if somebody forced it.
        var startedAt: Instant
        var jitter: Double
        var now: Instant
    }

    /// The row after one more failure.
    ///
    /// The next try comes before the refresh token dies, unless the server asked for a longer wait. An attempt before
    /// its planned time, which somebody forced, does not put the next one off.
    static func following(
        _ previous: RetryState?,
        _ failure: RefreshFailure,
        of reason: RefreshReason,
        _ circumstances: Circumstances
    ) -> RetryState {
        let now = circumstances.now
        var setback = previous ?? RetryState(reason: reason, latest: failure, nextTry: now)
        let planned = previous.flatMap { $0.nextTry > circumstances.startedAt ? $0.nextTry : nil }
        if planned == nil || setback.failures == 0 { setback.failures += 1 }
        if let previous {
            let isSame = previous.latest.kind == failure.kind
            setback.repeated = isSame ? previous.repeated + (planned == nil ? 1 : 0) : 1
        }
        setback.reason = reason
        setback.latest = failure
        if failure.kind.consequences.tokenUse == .unanswered { setback.lostAnswers += 1 }
        if failure.kind == .unexplained, circumstances.isAboutLogin {
            setback.refusals.add(at: now, expiry: circumstances.servedUntil)
        }
        if failure.kind.consequences.verdict == .retryThenSuspend {
            setback.clientRejectedAt = setback.clientRejectedAt ?? now
        }
        setback.nextTry = now + setback.delay(circumstances)
        if let planned, planned > now {
            setback.nextTry = min(setback.nextTry, max(planned, now + setback.leastPause))
        }
        if let end = circumstances.loginEnd, end > now {
            setback.nextTry = min(setback.nextTry, RetrySchedule.lastTry(before: end, now: now))
        }
        if let retryAfter = failure.retryAfter {
            setback.nextTry = max(setback.nextTry, now + retryAfter * (1 + 0.1 * circumstances.jitter))
        }
        return setback
    }

    /// The server has rejected the client for so long that only a person can help.
    func isClientRejected(at now: Instant) -> Bool {
        guard consequences.verdict == .retryThenSuspend, let clientRejectedAt else { return false }
        return nextClientRetry(since: clientRejectedAt, at: now) == nil
    }

    /// What follows from the latest failure.
    var consequences: FailureConsequences { latest.kind.consequences }

    private var leastPause: Duration { max(consequences.leastPause, latest.leastPause ?? .zero) }

    private func nextClientRetry(since first: Instant, at now: Instant) -> Duration? {
        RetrySchedule.clientRetries.first { first + $0 > now }.map { first + $0 - now }
    }

    private func delay(_ circumstances: Circumstances) -> Duration {
        let now = circumstances.now
        if let replay = replayDelay(tokenExpiresAt: circumstances.tokenExpiresAt, now: now) { return replay }
        let pauses = consequences.pauses
        if !pauses.isEmpty { return pauses[min(repeated, pauses.count) - 1] }
        if consequences.verdict == .retryThenSuspend, let clientRejectedAt,
            let next = nextClientRetry(since: clientRejectedAt, at: now)
        {
            return max(next, leastPause)
        }
        if latest.kind == .unexplained {
            if let end = circumstances.servedUntil, end > now {
                return max(RetrySchedule.pauseAfterRefusal(left: end - now), leastPause)
            }
            if (1...2).contains(refusals.countAfterExpiry) {
                return max(RetrySchedule.refusalPause, leastPause)
            }
        }
        let cap = RetrySchedule.cap(tokenExpiresAt: circumstances.tokenExpiresAt, now: now)
        let backoff = RetrySchedule.backoff(failures: failures, cap: cap, jitter: circumstances.jitter)
        return max(backoff, leastPause, latest.kind == .unexplained ? RetrySchedule.refusalPause : .zero)
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
