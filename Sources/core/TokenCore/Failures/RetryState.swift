// SPDX-License-Identifier: MIT

/// Consecutive failed attempts, and the time of the next one.
struct RetryState: Equatable, Sendable {
    var failures = 0
    /// The reason the first attempt was made, or the latest early one.
    var reason: RefreshReason
    var latest: RefreshFailure
    var nextTry: Instant
    /// The number of consecutive failures of the class of ``latest``.
    var repeated = 1
    /// The number of lost responses among the failures, which indexes ``RetrySchedule/replayDelays``.
    var lostAnswers = 0
    /// The rejections without a reason among the failures.
    var refusals = RejectionStreak()
    /// The time at which the server first rejected the client.
    var clientRejectedAt: Instant?

    /// The facts that decide about the next attempt, apart from the failure itself.
    struct Circumstances {
        /// The expiry of the latest token, even if servers reject it.
        var tokenExpiresAt: Instant?
        /// The expiry of the token that is served, or `nil` if none is.
        var servedUntil: Instant?
        /// The expiry of the refresh token.
        var loginEnd: Instant?
        /// Whether the attempt was for the session's own token, with the refresh token or without a login.
        ///
        /// Only then does a rejection concern the session.
        var isAboutLogin = true
        /// Whether the failure counts in ``RetryState/refusals``.
        var isRefusal = false
        /// The time at which the attempt began.
        ///
        /// A forced attempt begins before its planned time.
        var startedAt: Instant
        var jitter: Double
        var now: Instant
    }

    /// Returns the state after one more failure.
    ///
    /// The next attempt is before the refresh token expires, unless the server requested a longer delay. A
    /// forced attempt before the planned time does not postpone the next one.
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
        if circumstances.isRefusal, circumstances.isAboutLogin {
            setback.refusals.add(at: now, expiry: circumstances.servedUntil)
        }
        if failure.kind.consequences.verdict == .retryThenSuspend {
            setback.clientRejectedAt = setback.clientRejectedAt ?? now
        }
        setback.nextTry = now + setback.delay(circumstances)
        if let planned, planned > now {
            setback.nextTry = min(setback.nextTry, max(planned, now + setback.minimumDelay))
        }
        if let end = circumstances.loginEnd, end > now {
            setback.nextTry = min(setback.nextTry, RetrySchedule.lastTry(before: end, now: now))
        }
        if let retryAfter = failure.retryAfter {
            setback.nextTry = max(setback.nextTry, now + retryAfter * (1 + 0.1 * circumstances.jitter))
        }
        return setback
    }

    /// Returns whether the server has rejected the client for so long that only the user can help.
    func isClientRejected(at now: Instant) -> Bool {
        guard consequences.verdict == .retryThenSuspend, let clientRejectedAt else { return false }
        return nextClientRetry(since: clientRejectedAt, at: now) == nil
    }

    /// The consequences of the latest failure.
    var consequences: FailureConsequences { latest.kind.consequences }

    private var minimumDelay: Duration { max(consequences.minimumDelay, latest.minimumDelay ?? .zero) }

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
            return max(next, minimumDelay)
        }
        if latest.kind == .unexplained {
            if let end = circumstances.servedUntil, end > now {
                return max(RetrySchedule.pauseAfterRefusal(left: end - now), minimumDelay)
            }
            if (1...2).contains(refusals.countAfterExpiry) {
                return max(RetrySchedule.refusalPause, minimumDelay)
            }
        }
        let cap = RetrySchedule.cap(tokenExpiresAt: circumstances.tokenExpiresAt, now: now)
        let backoff = RetrySchedule.backoff(failures: failures, cap: cap, jitter: circumstances.jitter)
        return max(backoff, minimumDelay, latest.kind == .unexplained ? RetrySchedule.refusalPause : .zero)
    }

    /// Returns the delay of the replay schedule: 0, 2, 8 s, then a minute before expiry, then the ordinary
    /// backoff.
    private func replayDelay(tokenExpiresAt: Instant?, now: Instant) -> Duration? {
        guard lostAnswers > 0, consequences.tokenUse == .unanswered else { return nil }
        // A malformed response is replayed once. It did arrive, so further replays are not urgent.
        let quick = latest.kind == .ambiguous ? RetrySchedule.replayDelays.count : 1
        if lostAnswers <= quick { return RetrySchedule.replayDelays[lostAnswers - 1] }
        guard let tokenExpiresAt, lostAnswers == quick + 1 else { return nil }
        let last = tokenExpiresAt - RetrySchedule.lastReplayBeforeExpiry
        return last > now ? last - now : nil
    }
}
