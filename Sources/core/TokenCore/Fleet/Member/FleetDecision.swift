// SPDX-License-Identifier: MIT

/// The decision of a host after one read of etcd, made by the first rule that applies.
struct FleetDecision: Equatable, Sendable {
    enum Next: Equatable, Sendable {
        case transact(FleetWrite)
        /// Write the state to this host's disk, and then execute the actions in `telling`.
        case keep(FleetPersistentState, telling: [FleetAction])
        /// The reservation is in etcd, although no response to its transaction had arrived.
        case granted
        /// This host's claim is over and ends in etcd as the stage says.
        case end(RefreshClaim.Stage)
        /// Request a lease for a reservation.
        case reserve
        /// Tell the session to wait, because another host is refreshing or will be.
        case wait
        /// Tell the session not to send before this time.
        case postpone(FleetTime)
        /// The session cannot be refreshed, because the login in etcd has ended or is absent.
        case notLive
        /// There is nothing left to do.
        case rest

        /// Whether the decision requires a read, because it changes etcd or concerns a claim.
        ///
        /// The snapshot of a watch does not suffice then.
        var needsLook: Bool {
            switch self {
            case .transact, .granted, .end: true
            // Another read precedes the request for a lease.
            case .keep, .reserve, .wait, .postpone, .notLive, .rest: false
            }
        }
    }

    let view: FleetSnapshot
    let memory: FleetPersistentState
    let timing: FleetTiming
    let role: FleetRole
    let pendingRefresh: RefreshAwaitingLock?
    /// The expiry of the access token that the pending refresh replaces, in the snapshot's time.
    private let expiry: FleetTime?
    /// The record to seal again under the newest key.
    let outsealed: FleetHeader?
    /// This host's claim, or `nil` as soon as etcd has no trace of the claim.
    private(set) var hold: RefreshClaim?

    init(at view: FleetSnapshot, of member: FleetMember, now: Instant) {
        self.view = view
        memory = member.memory
        timing = member.timing
        role = member.role
        pendingRefresh = member.pendingRefresh
        expiry = member.pendingRefresh?.expiry.map { view.time + ($0 - now) }
        outsealed = member.outsealed
        hold = member.hold
    }

    mutating func decide() -> Next {
        guard role == .keeper else { return follow() ?? wait() }
        return conclude() ?? settle() ?? reconcile() ?? mark() ?? adoptLate() ?? erase() ?? reseal()
            ?? refresh()
            ?? .rest
    }

    /// Ends this host's claim if the claim brought no tokens.
    private mutating func conclude() -> Next? {
        guard let hold else { return nil }
        switch hold.finding(in: view) {
        case .stands: return .granted
        case .toBeEnded(let stage): return .end(stage)
        case .gone:
            self.hold = nil
            return nil
        }
    }

    /// Decides about a token response that is durable on this host but not yet settled in etcd.
    private func settle() -> Next? {
        guard let answer = memory.answer else { return nil }
        switch StoredResultAction(of: answer, in: memory, view) {
        case .commit: return .transact(.commit(answer.header, answer))
        case .place:
            guard view.lateResults.contains(answer.late) else {
                return .transact(.place(answer.late, beside: view.record))
            }
            return placed
        // Otherwise the lock would keep the other hosts waiting until its lease ends.
        case .forget where view.lock == answer.attempt, .revoke where view.lock == answer.attempt:
            return .transact(.unlock(answer.attempt))
        case .forget: return drop(answer, telling: [])
        case .revoke: return drop(answer, telling: [.revoke(answer.attempt)])
        case .afterWriting, .wait: return nil
        }
    }

    /// The decision after a token response was stored in etcd next to the record: the session uses the
    /// record's tokens again.
    private var placed: Next {
        .keep(memory.placing(in: view.place.cluster), telling: memory.record.map { [.adopt($0)] } ?? [])
    }

    private func drop(_ answer: StoredRefreshResult, telling: [FleetAction]) -> Next {
        var next = memory
        next.answer = nil
        if let record = view.record, RecordOrdering(of: record, to: next.record) == .newer {
            let (adopting, result) = next.adopting(record)
            return .keep(adopting, telling: telling + [.adopt(record)] + result)
        }
        // The session has the tokens of its response, unless it was told when they were stored as a late
        // response.
        let adopted = answer.placedIn == nil ? next.record.map { [FleetAction.adopt($0)] } ?? [] : []
        return .keep(next, telling: telling + adopted)
    }

    // MARK: Records

    /// Makes etcd's record and the host's own the same.
    private func reconcile() -> Next? {
        switch RecordOrdering(of: view.record, to: memory.record) {
        case .same:
            guard memory.isUnpublished, let record = view.record else { return nil }
            let (next, result) = memory.adopting(record)
            return .keep(next, telling: result)
        case .beside(let spare?) where view.isOfUse(spare) && !view.lateResults.contains(spare):
            return .transact(.place(spare, beside: view.record))
        case .newer, .beside: return adopt()
        case .older: return write()
        }
    }

    /// Decides for a reader: it adopts the record, and leaves repairs to the keepers.
    private func follow() -> Next? {
        switch RecordOrdering(of: view.record, to: memory.record) {
        case .newer, .beside: adopt()
        case .same, .older: nil
        }
    }

    /// Decides for a reader that has the current record: the keepers have its request, and may have to wait
    /// themselves.
    private func wait() -> Next {
        guard pendingRefresh != nil else { return .rest }
        guard view.record?.isLive == true, case .notBefore(let time) = takeover else { return .wait }
        return .postpone(time)
    }

    private func adopt() -> Next? {
        guard let record = view.record else { return nil }
        let (next, result) = memory.adopting(record)
        return .keep(next, telling: [.adopt(record)] + result)
    }

    /// Writes this host's record to etcd in place of an older one: a new record, or a repair after etcd was
    /// restored from a snapshot.
    private func write() -> Next? {
        guard var record = memory.record else { return nil }
        if record.status == .out, let old = view.record, old.lineage == record.lineage {
            record.generation = max(record.generation, old.loggedOut().generation)
        }
        // The record may be in etcd from the first attempt on, and other hosts may use it.
        guard record.cluster != FleetHeader.nowhere else {
            var next = memory
            next.record?.cluster = view.place.cluster
            return .keep(next, telling: [])
        }
        let isFirst = memory.isUnpublished && record.cluster == view.place.cluster
        let mayBeSent = record.isLive && !isFirst && timing.reuse != .accepted
        let former = view.intent.flatMap { $0.concerns(record) ? $0 : nil }
        let lost = FleetIntent(lostFor: record, besides: former, at: view.time)
        return .transact(.write(record, over: view.record, mayBeSent ? lost : nil))
    }

    /// Writes an intent for refreshes that etcd may have lost when it was restored from a snapshot.
    ///
    /// No host may send the refresh token before that.
    private func mark() -> Next? {
        guard let record = view.record, record.isLive, timing.reuse != .accepted,
            memory.isRestored || record.cluster != view.place.cluster
        else { return nil }
        guard view.presentIntent?.attempt != .lost else {
            return memory.isRestored ? .keep(memory.marked, telling: []) : nil
        }
        guard view.lock == nil else { return nil }
        let lost = FleetIntent(lostFor: record, besides: view.presentIntent, at: view.time)
        return .transact(.mark(lost, on: record, over: view.intent))
    }

    // MARK: Late responses

    private func adoptLate() -> Next? {
        guard let record = view.record, view.lock == nil, let late = view.nextAdoption(timing) else {
            return nil
        }
        return .transact(.adopt(record.replaced(by: late), late, over: record))
    }

    private func erase() -> Next? {
        let useless = view.useless
        return useless.isEmpty ? nil : .transact(.erase(useless, beside: view.record))
    }

    /// Seals the record again under the newest key, unless a host has the lock and so writes another record
    /// soon.
    private func reseal() -> Next? {
        guard let outsealed, view.record == outsealed, view.lock == nil else { return nil }
        return .transact(.reseal(outsealed, view.intent))
    }

    // MARK: Refreshing

    private func refresh() -> Next? {
        guard pendingRefresh != nil else { return nil }
        guard let record = view.record, record.isLive else { return .notLive }
        switch takeover {
        case .held: return .wait
        case .notBefore(let time): return .postpone(time)
        // A late response replaces the record soon.
        case .now: return view.hasAnswer(to: record) ? .wait : .reserve
        }
    }

    /// The permission to send the refresh token of the record.
    var takeover: FleetSendPermission {
        FleetSendPermission(in: view, expiry: expiry, timing: timing)
    }

    /// Returns the actions that tell the session to wait, and the keepers to refresh if this host is a
    /// reader.
    func told(to pendingRefresh: RefreshAwaitingLock) -> [FleetAction] {
        (pendingRefresh.isHeld ? [] : [.hold(pendingRefresh.attempt)]) + asked
    }

    /// The action that asks the keepers for a newer token, or none if this host is a keeper or has asked
    /// already.
    var asked: [FleetAction] {
        guard role == .reader, let record = memory.record, view.wanted != record.generation else { return [] }
        return [.ask(generation: record.generation)]
    }

    /// The delay before a waiting host reads again if the watch reports nothing.
    ///
    /// It lasts until the other host's lease can have ended.
    var nextLook: Duration {
        guard role == .keeper else { return FleetDecision.readersPause }
        let end = (view.presentIntent?.at ?? view.time) + (timing.lease + timing.margin)
        return max(end - view.time, timing.margin)
    }

    /// The maximum time that a waiting host lets pass before it requests the lock.
    ///
    /// It leaves time for another turn within a grace.
    var maximumClaimDuration: Duration {
        guard case .now(let left?) = takeover else { return timing.maximumClaimDuration }
        return left / 2
    }

    /// The delay before a waiting reader reads etcd again, 60 seconds.
    ///
    /// Its request is in etcd for that time.
    private static let readersPause = Duration.seconds(60)
}
