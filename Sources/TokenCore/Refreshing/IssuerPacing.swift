// SPDX-License-Identifier: MIT

/// How fast one issuer is asked, however many sessions it has.
///
/// At most four requests at a time and five per second with bursts of ten, unless the configuration sets another pace, so
/// that a machine that wakes up with two hundred sessions due does not look like an attack. When failures come from more than one session the
/// issuer itself is down: then one session at a time asks, less and less often, and after the first success
/// the others follow over half a minute, those that need it first at the front. A `Retry-After` holds for the
/// issuer, not for the session.
package struct IssuerPacing: Equatable, Sendable {
    package static let concurrency = 4
    /// The usual number of requests per second (``SessionPolicy/refreshesPerSecond``).
    package static let ratePerSecond = 5
    /// Failures in a row, from at least two sessions, after which the issuer counts as down.
    package static let failuresUntilDown = 3
    /// While the issuer is down it is asked after 2, 4, 8, 16, 32, 32, … seconds: about 110 times an hour, and back
    /// in use half a minute after it returns, however many sessions it has.
    package static let longestProbePause = Duration.seconds(32)
    /// The longest pause while somebody waits.
    package static let demandedProbePause = Duration.seconds(10)
    /// The time over which waiting sessions are let go after an outage.
    package static let recovery = Duration.seconds(30)

    private struct Waiting: Equatable {
        var session: SessionName
        var isReplay: Bool
        var isDemanded: Bool
        var isForeign: Bool
        var neededBy: Instant
        var ratePerSecond: Int
    }

    private var waiting: [Waiting] = []
    private var running: Set<SessionName> = []
    private var tokens: Double
    /// The lowest pace of the sessions that waited last.
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

    /// Requests that may go out at once after a pause.
    private var burst: Double { 2 * Double(ratePerSecond) }

    private var isDown: Bool {
        failures >= IssuerPacing.failuresUntilDown && failingSessions.count >= 2
    }

    /// A session wants to send.
    ///
    /// - Parameters:
    ///   - session: who.
    ///   - isReplay: the answer to its refresh token is missing, and the server may take that token only for
    ///     a few seconds more; those go before all others while the issuer answers.
    ///   - isDemanded: somebody waits for it; those go next.
    ///   - isForeign: it is only for somebody at a `[[socket]]`; those go last.
    ///   - neededBy: when its token ends; the soonest go first.
    ///   - ratePerSecond: the pace that the session sets; of all that wait the lowest counts.
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
            Waiting(
                session: session,
                isReplay: isReplay,
                isDemanded: isDemanded,
                isForeign: isForeign,
                neededBy: neededBy,
                ratePerSecond: ratePerSecond
            )
        )
    }

    /// A session no longer wants to send.
    package mutating func withdrawn(by session: SessionName) {
        waiting.removeAll { $0.session == session }
        running.remove(session)
    }

    /// A session had nothing to send after all, which says nothing about the issuer.
    package mutating func notAsked(by session: SessionName) {
        running.remove(session)
    }

    /// A session's request ended.
    ///
    /// - Parameters:
    ///   - session: whose.
    ///   - failure: `nil` when the issuer answered as it should, be it with a refusal.
    ///   - now: when.
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

    /// The failures may have been the network's: the issuer no longer counts as down.
    ///
    /// Its `Retry-After` still holds.
    package mutating func networkReturned() {
        failures = 0
        failingSessions = []
        recoveringUntil = nil
    }

    /// Until when the issuer asked to be left alone; `nil`: it did not, or that time is over.
    package func closedUntil(at now: Instant) -> Instant? {
        notBefore.flatMap { $0 > now ? $0 : nil }
    }

    /// The sessions that may send now, in order; each counts as running from here on.
    package mutating func admit(at now: Instant) -> [SessionName] {
        let former = ratePerSecond
        ratePerSecond = waiting.map(\.ratePerSecond).min() ?? former
        // A faster pace has its burst at once.
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

    /// When ``admit(at:)`` may have something new although nothing was finished.
    package func wakeTime(at now: Instant) -> Instant? {
        guard let first = waiting.min(by: isMoreUrgent) else { return nil }
        if let opening = closedUntil(at: now) { return opening }
        guard running.count < limit(at: now) else { return nil }
        if let probe = probeTime(for: first), probe > now { return probe }
        guard tokens < 1 else { return nil }
        return now + .seconds(1) * ((1 - tokens) / rate(at: now))
    }

    /// When an issuer that is down may be asked again; `nil` while it is not down, and for the first probe.
    private func probeTime(for session: Waiting) -> Instant? {
        let probes = failures - IssuerPacing.failuresUntilDown
        guard isDown, probes > 0, let lastFailure else { return nil }
        let most = session.isDemanded ? IssuerPacing.demandedProbePause : IssuerPacing.longestProbePause
        return lastFailure + min(most, .seconds(2) * (1 << min(probes - 1, 10)))
    }

    /// A faster pace needs more requests in flight, as answers take most of a second at a busy server.
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
        // While recovering there is no burst: the point is to come back gently.
        let most = recovering ? 1 : burst
        tokens = min(most, tokens + max(0, elapsed) * rate(at: now))
        filledAt = max(filledAt, now)
    }

    private func isMoreUrgent(_ left: Waiting, _ right: Waiting) -> Bool {
        // An issuer that is down is asked sooner for somebody who waits, so no replay goes before such a
        // request.
        guard isDown || left.isReplay == right.isReplay else { return left.isReplay }
        guard left.isForeign == right.isForeign else { return right.isForeign }
        guard left.isDemanded == right.isDemanded else { return left.isDemanded }
        return left.neededBy < right.neededBy
    }
}
