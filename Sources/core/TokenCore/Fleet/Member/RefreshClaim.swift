// SPDX-License-Identifier: MIT

/// A host's claim to send the refresh token of one record, from the reservation until it is settled.
struct RefreshClaim: Hashable, Sendable {
    enum Stage: Hashable, Sendable {
        /// The reservation was sent to etcd, and no response has arrived.
        ///
        /// Next: `granted` if it is in etcd, `untouched` if it is there too late, or none.
        case reserving
        /// The session may send the refresh token, or has sent it. Next: any of the others, or none with
        /// tokens.
        case granted
        /// The server did nothing. The previous intent is restored, and any host may proceed. Next: none.
        case untouched
        /// The server's response is missing. The intent remains, and the lock is released. Next: none.
        case unanswered
        /// The server rejected the token, and another attempt has to confirm it. The intent says so, and the
        /// lock is released.
        ///
        /// Next: none; `unanswered` if another host has taken over.
        case doubted
        /// The server rejected the token. The record is declared dead.
        ///
        /// Next: none; `untouched` if the response of another host arrives, `unanswered` if another host has
        /// taken over.
        case refused(EndReason)
    }

    let record: FleetHeader
    let intent: FleetIntent
    /// The intent in etcd for the same refresh token that this claim's intent replaces, or `nil` if there was
    /// none.
    let former: FleetIntent?
    /// The deadline for sending the request.
    ///
    /// It is not sent later.
    let deadline: Instant
    /// The deadline for the arrival of the whole request at the server, which never arrives later.
    ///
    /// The lock's lease ends then.
    let arrivalDeadline: Instant
    /// The deadline for reading the response.
    ///
    /// Within a grace, it is the time until which this host can still send again. Otherwise it is the time
    /// until which no other host takes over.
    let readDeadline: Instant
    /// The revision of etcd in the read on which the claim was decided.
    let place: FleetRevision
    var stage = Stage.reserving

    /// Creates the claim of `attempt` to send the refresh token of `record`, as `seen` allows it.
    ///
    /// - Parameters:
    ///   - attempt: the attempt of the claim.
    ///   - record: the record that etcd showed.
    ///   - seen: the decision for the claim, with its snapshot.
    ///   - viewedSince: the start of the read.
    ///   - leaseEnds: the earliest end of the lock's lease.
    ///   - now: the current time.
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
            viewedSince + RefreshClaim.maximumReadDuration($0, calls: now - viewedSince)
        }
        let patient = max(viewedSince + timing.takeoverTimeout - timing.margin, arrival)
        readDeadline = lastMoment.flatMap { $0 < arrival ? nil : $0 } ?? patient
    }

    /// Returns the time after a read for which a response may be read, if the token can be sent again only
    /// within `left`.
    ///
    /// etcd's time is in whole seconds, so whole seconds are counted. The next read has to show a second that
    /// leaves time for another attempt, and shows one more if it begins in the next second. A host that
    /// waited to the very end would find that it is too late to send, and would have discarded a response for
    /// nothing.
    ///
    /// - Parameters:
    ///   - left: the time for which the token may be sent again.
    ///   - calls: the time that etcd took for the read and the lease.
    /// - Returns: the time, negative if there is not enough for another attempt.
    private static func maximumReadDuration(_ left: Duration, calls: Duration) -> Duration {
        let spare = Duration.milliseconds(250)
        // Another attempt reads, requests a lease and reserves.
        let latest = left - (calls * 2 + spare)
        // The lock is released before that.
        return .seconds(latest.wholeSeconds) - (calls + spare)
    }

    /// Recreates the claim of an attempt that an earlier process was allowed to send.
    ///
    /// Only its response can be taken. Nothing more may be sent.
    init(recovering sending: PendingSend) {
        record = sending.parent
        intent = sending.intent
        former = nil
        deadline = RefreshRequestDeadlines.recorded.sendBefore
        arrivalDeadline = RefreshRequestDeadlines.recorded.arriveBefore
        readDeadline = RefreshRequestDeadlines.recorded.endBefore
        place = FleetRevision(cluster: sending.cluster, revision: 0)
        stage = .granted
    }

    /// The data that must be durable before the claim is used.
    var sending: PendingSend { PendingSend(parent: record, intent: intent, cluster: place.cluster) }

    /// The deadlines of the request.
    var fence: RefreshRequestDeadlines {
        RefreshRequestDeadlines(sendBefore: deadline, arriveBefore: arrivalDeadline, endBefore: readDeadline)
    }

    /// Returns whether `answer` proves that the reservation was made in time, and in the cluster that was
    /// read.
    func counts(_ answer: FleetRevision, at now: Instant) -> Bool {
        now < deadline && answer.cluster == place.cluster && answer.revision > place.revision
    }

    /// Returns the response to the request of the claim, to be stored on this host.
    func answer(_ tokenMark: UInt64) -> StoredRefreshResult {
        StoredRefreshResult(parent: record, intent: intent, tokenMark: tokenMark, cluster: place.cluster)
    }

    /// The write that ends the claim in etcd as its stage requires, or `nil` if it has not ended.
    var ending: FleetWrite? {
        switch stage {
        case .reserving, .granted: nil
        case .untouched: .release(self)
        case .unanswered: .unlock(intent.attempt)
        case .doubted: .doubt(self)
        case .refused(let reason): .declare(record.refused(reason), self)
        }
    }

    /// The state in etcd of a claim that a crash, a pause or a lost response has made doubtful.
    enum StateInEtcd: Equatable, Sendable {
        /// The claim is in etcd.
        case stands
        /// The claim must be ended in etcd as this stage requires.
        case toBeEnded(Stage)
        /// Nothing is left of the claim.
        case gone
    }

    func finding(in view: FleetSnapshot) -> StateInEtcd {
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

/// The rejections of one refresh token that this host knows of.
struct RefreshTokenRejections: Hashable, Sendable {
    let tokenMark: UInt64
    private(set) var attempts: [AttemptID] = []

    /// Adds the rejection of the claim `hold`, and the rejection at another host that `hold` has confirmed.
    ///
    /// The rejections in `former` are kept if they are about the same refresh token.
    init(of hold: RefreshClaim, after former: RefreshTokenRejections?) {
        tokenMark = hold.record.tokenMark
        if let former, former.tokenMark == tokenMark { attempts = former.attempts }
        if let other = hold.former, other.isRefused, !attempts.contains(other.attempt) {
            attempts.append(other.attempt)
        }
        attempts.append(hold.intent.attempt)
    }

    /// Returns the reason to report for a rejected refresh token.
    ///
    /// If a response to an earlier attempt is missing, that response probably replaced the token, so the
    /// reason is the lost response.
    func believed(_ reason: EndReason, after intent: FleetIntent) -> EndReason {
        let isMissing = intent.before.contains { !attempts.contains($0) }
        return reason == .grantDead && isMissing ? .replyLost : reason
    }
}
