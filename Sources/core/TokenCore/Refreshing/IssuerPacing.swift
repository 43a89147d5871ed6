// SPDX-License-Identifier: MIT

/// The limit on the rate of requests to one issuer, regardless of the number of its sessions.
///
/// There are at most four requests at a time and five per second with bursts of ten, unless the configuration
/// sets another rate. A machine that wakes up with two hundred due sessions must not look like an attack.
///
/// When failures come from more than one session, the issuer itself is down. Then one session at a time sends
/// a request, at increasing intervals. After the first success the others follow over half a minute, the most
/// urgent first. A `Retry-After` applies to the issuer, not to the session.
package struct IssuerPacing: Equatable, Sendable {
    /// The maximum number of requests in flight at the default rate.
    static let concurrency = 4
    /// The default number of requests per second (``SessionPolicy/refreshesPerSecond``).
    static let ratePerSecond = 5
    /// The number of consecutive failures, from at least two sessions, after which the issuer counts as down.
    static let failuresUntilDown = 3
    /// The maximum interval between probes of an issuer that is down, 32 seconds.
    ///
    /// The intervals are 2, 4, 8, 16, 32, 32, … seconds: about 110 requests an hour. The issuer is back in
    /// use half a minute after it returns, however many sessions it has.
    static let maximumProbeDelay = Duration.seconds(32)
    /// The maximum interval between probes while a request waits, 10 seconds.
    static let demandedProbePause = Duration.seconds(10)
    /// The time over which waiting sessions are admitted after an outage, 30 seconds.
    package static let recovery = Duration.seconds(30)

    private struct WaitingSession: Equatable {
        var session: SessionName
        var isReplay: Bool
        var isDemanded: Bool
        var isForeign: Bool
        var neededBy: Instant
        var ratePerSecond: Int
    }

    private var waiting: [WaitingSession] = []
    private var running: Set<SessionName> = []
    private var tokens: Double
    /// The lowest rate that the latest waiting sessions set.
    private var ratePerSecond = IssuerPacing.ratePerSecond
    private var filledAt: Instant
    private var failures = 0
    private var failingSessions: Set<SessionName> = []
    private var notBefore: Instant?
    private var lastFailure: Instant?
    private var recoveringUntil: Instant?

    package init(at now: Instant) {
        filledAt = now
        tokens = 2 * Double(IssuerPacing.ratePerSecond)
    }

    /// The number of requests that may be sent at once after a pause.
    private var burst: Double { 2 * Double(ratePerSecond) }

    private var isDown: Bool {
        failures >= IssuerPacing.failuresUntilDown && failingSessions.count >= 2
    }

    /// Adds a session that requests to send.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - isReplay: whether the response to its refresh token is missing. The server may accept that token
    ///     only for a few seconds more, so replays precede all others while the issuer responds.
    ///   - isDemanded: whether a request waits for it. Such sessions are next.
    ///   - isForeign: whether only a request at a `[[socket]]` waits for it. Such sessions are last.
    ///   - neededBy: the expiry of its token. The earliest is first.
    ///   - ratePerSecond: the rate that the session sets. The lowest of all waiting sessions applies.
    package mutating func requested(
        by session: SessionName,
        isReplay: Bool,
        isDemanded: Bool,
        isForeign: Bool = false,
        neededBy: Instant,
        ratePerSecond: Int = IssuerPacing.ratePerSecond
    ) {
        waiting.removeAll { $0.session == session }
        waiting.append(
            WaitingSession(
                session: session,
                isReplay: isReplay,
                isDemanded: isDemanded,
                isForeign: isForeign,
                neededBy: neededBy,
                ratePerSecond: ratePerSecond
            )
        )
    }

    /// Removes a session that no longer needs to send.
    mutating func withdrawn(by session: SessionName) {
        waiting.removeAll { $0.session == session }
        running.remove(session)
    }

    /// Ends a session's turn without a request, which says nothing about the issuer.
    package mutating func notAsked(by session: SessionName) {
        running.remove(session)
    }

    /// Ends a session's request.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - failure: the failure, or `nil` if the issuer responded properly, even with a rejection.
    ///   - now: the time at which the request ended.
    package mutating func finished(_ session: SessionName, _ failure: RefreshFailure?, at now: Instant) {
        running.remove(session)
        guard let failure else {
            if isDown { recoveringUntil = now + IssuerPacing.recovery }
            failures = 0
            failingSessions = []
            notBefore = nil
            return
        }
        failures += 1
        failingSessions.insert(session)
        lastFailure = now
        recoveringUntil = nil
        guard let retryAfter = failure.retryAfter else { return }
        notBefore = max(notBefore ?? now, now + retryAfter)
    }

    /// Resets the failures, because the network may have caused them.
    ///
    /// The issuer no longer counts as down.
    ///
    /// Its `Retry-After` still applies.
    package mutating func networkReturned() {
        failures = 0
        failingSessions = []
        recoveringUntil = nil
    }

    /// Returns the end of the issuer's `Retry-After`, or `nil` if there is none or it has passed.
    func closedUntil(at now: Instant) -> Instant? {
        notBefore.flatMap { $0 > now ? $0 : nil }
    }

    /// Returns the sessions that may send now, in order.
    ///
    /// Each counts as running from here on.
    package mutating func admit(at now: Instant) -> [SessionName] {
        let former = ratePerSecond
        ratePerSecond = waiting.map(\.ratePerSecond).min() ?? former
        // A higher rate gets its burst at once.
        if ratePerSecond > former { tokens += 2 * Double(ratePerSecond - former) }
        refill(at: now)
        guard closedUntil(at: now) == nil else { return [] }
        var admitted: [SessionName] = []
        waiting.sort(by: isMoreUrgent)
        while let next = waiting.first, running.count < limit(at: now), tokens >= 1 {
            if let probe = probeTime(for: next), probe > now { break }
            waiting.removeFirst()
            tokens -= 1
            running.insert(next.session)
            admitted.append(next.session)
        }
        return admitted
    }

    /// Returns the time at which ``admit(at:)`` may return more, even if nothing finishes before.
    package func wakeTime(at now: Instant) -> Instant? {
        guard let first = waiting.min(by: isMoreUrgent) else { return nil }
        if let opening = closedUntil(at: now) { return opening }
        guard running.count < limit(at: now) else { return nil }
        if let probe = probeTime(for: first), probe > now { return probe }
        guard tokens < 1 else { return nil }
        return now + .seconds(1) * ((1 - tokens) / rate(at: now))
    }

    /// Returns the next probe time, or `nil` if the issuer is not down, and for the first probe.
    private func probeTime(for session: WaitingSession) -> Instant? {
        let probes = failures - IssuerPacing.failuresUntilDown
        guard isDown, probes > 0, let lastFailure else { return nil }
        let most = session.isDemanded ? IssuerPacing.demandedProbePause : IssuerPacing.maximumProbeDelay
        return lastFailure + min(most, .seconds(2) * (1 << min(probes - 1, 10)))
    }

    /// A higher rate needs more requests in flight, as responses take most of a second at a busy server.
    private func limit(at now: Instant) -> Int {
        guard !isDown else { return 1 }
        let (usual, rate) = (IssuerPacing.ratePerSecond, ratePerSecond)
        return rate <= usual ? IssuerPacing.concurrency : IssuerPacing.concurrency * rate / usual
    }

    private func rate(at now: Instant) -> Double {
        let most = Double(ratePerSecond)
        guard let recoveringUntil, recoveringUntil > now else { return most }
        let spread = Double(waiting.count) / Double(IssuerPacing.recovery.wholeSeconds)
        return min(most, max(spread, 0.5))
    }

    private mutating func refill(at now: Instant) {
        let elapsed = Double((now - filledAt).saturatedNanoseconds) / 1e9
        let recovering = recoveringUntil.map { $0 > now } ?? false
        // There is no burst during recovery, so that the load returns gradually.
        let most = recovering ? 1 : burst
        tokens = min(most, tokens + max(0, elapsed) * rate(at: now))
        filledAt = max(filledAt, now)
    }

    private func isMoreUrgent(_ left: WaitingSession, _ right: WaitingSession) -> Bool {
        // An issuer that is down is probed sooner for a waiting request, so a replay must not precede such a
        // request.
        guard isDown || left.isReplay == right.isReplay else { return left.isReplay }
        guard left.isForeign == right.isForeign else { return right.isForeign }
        guard left.isDemanded == right.isDemanded else { return left.isDemanded }
        return left.neededBy < right.neededBy
    }
}
