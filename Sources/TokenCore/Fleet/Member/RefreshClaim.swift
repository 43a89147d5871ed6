// SPDX-License-Identifier: MIT

/// A host's right to send the refresh token of one record, from the reservation until it is settled.
struct RefreshClaim: Hashable, Sendable {
    enum Stage: Hashable, Sendable {
        /// The reservation was sent to etcd, and the answer is missing.
        /// Next: `granted` if it stands, `untouched` if it stands too late, or none.
        case reserving
        /// The session may send, or has. Next: any of the others, or none with tokens.
        case granted
        /// Nothing came of it: the former intent is put back, and anybody may go on at once. Next: none.
        case untouched
        /// The answer is missing: the intent stays, the lock goes. Next: none.
        case unanswered
        /// The server refused, and somebody has to confirm it: the intent says so, and the lock goes. Next: none;
        /// `unanswered` if another host has taken over.
        case doubted
        /// The server refused: the record is declared dead. Next: none; `untouched` if the answer of another host turns
        /// up, `unanswered` if another host has taken over.
        case refused(EndReason)
    }

    let record: FleetHeader
    let intent: FleetIntent
    /// What etcd said about the same refresh token before.
    let former: FleetIntent?
    /// The request has to be sent before, or not at all.
    let deadline: Instant
    /// The whole request has arrived by then, or never does: the lease of the lock ends.
    let arrivalDeadline: Instant
    /// The response is read until then: inside a grace, as long as this host can still send again; else as long as nobody
    /// takes over.
    let readDeadline: Instant
    /// Where etcd stood when it was decided.
    let place: FleetRevision
    var stage = Stage.reserving

    /// The right of `attempt` to send the refresh token of `record`, as `seen` allows it.
    ///
    /// - Parameters:
    ///   - attempt: whose right it is.
    ///   - record: what etcd showed.
    ///   - seen: the look that it was decided on.
    ///   - viewedSince: when that look began.
    ///   - leaseEnds: when the lease of the lock may end.
    ///   - now: now.
    init(
        for attempt: AttemptID,
        _ record: FleetHeader,
        _ seen: FleetDecision,
        viewed viewedSince: Instant,
        leaseEnds: Instant,
        at now: Instant
    ) {
        let (view, timing) = (seen.view, seen.timing)
        self.record = record
        intent = FleetIntent(of: attempt, for: record, after: view.presentIntent, at: view.time)
        former = view.presentIntent
        place = view.place
        let leased = leaseEnds - timing.request - timing.margin
        if case .now(let left?) = seen.takeover {
            deadline = min(leased, viewedSince + left)
        } else {
            deadline = leased
        }
        let arrival = deadline + timing.request
        arrivalDeadline = arrival
        let lastMoment = timing.graceLeft(since: intent.first, at: view.time).map {
            viewedSince + RefreshClaim.longestRead($0, calls: now - viewedSince)
        }
        let patient = max(viewedSince + timing.patience - timing.margin, arrival)
        readDeadline = lastMoment.flatMap { $0 < arrival ? nil : $0 } ?? patient
    }

    /// Returns the time after a look for which a response may be read, if the token can be sent again only within `left`.
    ///
    /// The next look has to show a second that leaves time for another attempt, and shows one more wherever it begins in the
    /// next. So whole seconds are counted: who waits to the end finds that it is too late to send, and has thrown away an
    /// answer for nothing.
    ///
    /// - Parameters:
    ///   - left: for how long the token may be sent again.
    ///   - calls: how long etcd took for the look and the lease.
    /// - Returns: less than nothing if there is no time for another attempt.
    private static func longestRead(_ left: Duration, calls: Duration) -> Duration {
        let spare = Duration.milliseconds(250)
        // It looks, asks for a lease and reserves.
        let latest = left - (calls * 2 + spare)
        // Before, the lock is given back.
        return .seconds(latest.wholeSeconds) - (calls + spare)
    }

    /// The right of an attempt that was granted before this process started: only its answer can be taken, and nothing
    /// sent any more.
    init(recovering sending: PendingSend) {
        record = sending.parent
        intent = sending.intent
        former = nil
        deadline = ExchangeDeadlines.recorded.sendBefore
        arrivalDeadline = ExchangeDeadlines.recorded.arriveBefore
        readDeadline = ExchangeDeadlines.recorded.endBefore
        place = FleetRevision(cluster: sending.cluster, revision: 0)
        stage = .granted
    }

    /// What has to be durable before it is used.
    var sending: PendingSend { PendingSend(parent: record, intent: intent, cluster: place.cluster) }

    /// When its request may be in flight.
    var fence: ExchangeDeadlines {
        ExchangeDeadlines(sendBefore: deadline, arriveBefore: arrivalDeadline, endBefore: readDeadline)
    }

    /// The reservation came in time, and from the etcd that was looked at.
    func counts(_ answer: FleetRevision, at now: Instant) -> Bool {
        now < deadline && answer.cluster == place.cluster && answer.revision > place.revision
    }

    /// The answer that it brought.
    func answer(_ tokenMark: UInt64) -> StoredRefreshResult {
        StoredRefreshResult(parent: record, intent: intent, tokenMark: tokenMark, cluster: place.cluster)
    }

    /// What ends it in etcd as its stage demands; `nil`: it is not over.
    var ending: FleetWrite? {
        switch stage {
        case .reserving, .granted: nil
        case .untouched: .release(self)
        case .unanswered: .unlock(intent.attempt)
        case .doubted: .doubt(self)
        case .refused(let reason): .declare(record.refused(reason), self)
        }
    }

    /// What etcd says of the right that a crash, a pause or a lost answer has put in doubt.
    enum Finding: Equatable, Sendable {
        /// It stands.
        case stands
        /// It is to be ended as ``stage`` says then.
        case toBeEnded(Stage)
        /// Nothing is left of it.
        case gone
    }

    func finding(in view: FleetSnapshot) -> Finding {
        let hasLock = view.lock == intent.attempt
        guard view.intent == intent else { return hasLock ? .toBeEnded(.unanswered) : .gone }
        switch stage {
        case .reserving: return hasLock ? .stands : .toBeEnded(.untouched)
        case .granted: return .stands
        case .untouched, .doubted: return .toBeEnded(stage)
        case .refused where view.record == record:
            return .toBeEnded(view.hasAnswer(to: record) ? .untouched : stage)
        case .unanswered, .refused: return hasLock ? .toBeEnded(.unanswered) : .gone
        }
    }
}

/// Refusals of one refresh token that this host knows of.
struct FleetRefusals: Hashable, Sendable {
    let tokenMark: UInt64
    private(set) var attempts: [AttemptID] = []

    /// With the refusal of `hold`, and that of another host which it had to confirm; `former` counts as long as it is
    /// about the same refresh token.
    init(of hold: RefreshClaim, after former: FleetRefusals?) {
        tokenMark = hold.record.tokenMark
        if let former, former.tokenMark == tokenMark { attempts = former.attempts }
        if let other = hold.former, other.isRefused, !attempts.contains(other.attempt) {
            attempts.append(other.attempt)
        }
        attempts.append(hold.intent.attempt)
    }

    /// A refused token whose earlier answer is missing was most likely replaced by that answer.
    func believed(_ reason: EndReason, after intent: FleetIntent) -> EndReason {
        let isMissing = intent.before.contains { !attempts.contains($0) }
        return reason == .grantDead && isMissing ? .replyLost : reason
    }
}
