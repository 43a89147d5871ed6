// SPDX-License-Identifier: MIT

/// What a host does next, decided on one look at etcd: the first of the rules that applies.
struct FleetDecision: Equatable, Sendable {
    enum Next: Equatable, Sendable {
        case transact(FleetWrite)
        /// Make it durable, and then tell.
        case keep(FleetPersistentState, telling: [FleetAction])
        /// The reservation stands, and its answer had been missing.
        case granted
        /// The right to send is over; it ends as its stage says.
        case end(RefreshClaim.Stage)
        /// Ask for a lease, to reserve with.
        case reserve
        /// Tell the session to wait: a host is at it, or will be.
        case wait
        /// Tell the session not to send before.
        case postpone(FleetTime)
        /// There is nothing to refresh.
        case notLive
        /// There is nothing left to do.
        case rest

        /// It changes something in etcd, or is about a right to send: what the watch shows does not suffice.
        var needsLook: Bool {
            switch self {
            case .transact, .granted, .end: true
            // A lease is asked for after another look.
            case .keep, .reserve, .wait, .postpone, .notLive, .rest: false
            }
        }
    }

    let view: FleetSnapshot
    let memory: FleetPersistentState
    let timing: FleetTiming
    let role: FleetRole
    let wish: PendingRefresh?
    /// When the access token that the wish is to replace ends, in the view's time.
    private let expiry: FleetTime?
    /// The record that is to be sealed anew.
    let outsealed: FleetHeader?
    /// `nil` as soon as nothing of it is left in etcd.
    private(set) var hold: RefreshClaim?

    init(at view: FleetSnapshot, of member: FleetMember, now: Instant) {
        self.view = view
        memory = member.memory
        timing = member.timing
        role = member.role
        wish = member.wish
        expiry = member.wish?.expiry.map { view.time + ($0 - now) }
        outsealed = member.outsealed
        hold = member.hold
    }

    mutating func decide() -> Next {
        guard role == .keeper else { return follow() ?? wait() }
        return conclude() ?? settle() ?? reconcile() ?? mark() ?? adoptLate() ?? erase() ?? reseal()
            ?? refresh()
            ?? .rest
    }

    /// Ends a right to send that brought no tokens.
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

    /// Settles an answer that is durable here.
    private func settle() -> Next? {
        guard let answer = memory.answer else { return nil }
        switch StoredResultAction(of: answer, in: memory, view) {
        case .commit: return .transact(.commit(answer.header, answer))
        case .place:
            guard view.lates.contains(answer.late) else {
                return .transact(.place(answer.late, beside: view.record))
            }
            return placed
        // Else it would keep the others waiting to the end of its lease.
        case .forget where view.lock == answer.attempt, .revoke where view.lock == answer.attempt:
            return .transact(.unlock(answer.attempt))
        case .forget: return drop(answer, telling: [])
        case .revoke: return drop(answer, telling: [.revoke(answer.attempt)])
        case .afterWriting, .wait: return nil
        }
    }

    /// The answer lies beside the record, so the session goes back to the tokens of the record.
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
        // The session has the tokens of its answer, unless it was told when they were laid aside.
        let adopted = answer.placedIn == nil ? next.record.map { [FleetAction.adopt($0)] } ?? [] : []
        return .keep(next, telling: telling + adopted)
    }

    // MARK: Records

    /// Makes etcd's record and the host's own the same.
    private func reconcile() -> Next? {
        switch RecordOrdering(of: view.record, to: memory.record) {
        case .same:
            guard memory.isNews, let record = view.record else { return nil }
            let (next, result) = memory.adopting(record)
            return .keep(next, telling: result)
        case .beside(let spare?) where view.isOfUse(spare) && !view.lates.contains(spare):
            return .transact(.place(spare, beside: view.record))
        case .newer, .beside: return adopt()
        case .older: return write()
        }
    }

    /// What a reader does: it takes what is there, and leaves it to the keepers to put things right.
    private func follow() -> Next? {
        switch RecordOrdering(of: view.record, to: memory.record) {
        case .newer, .beside: adopt()
        case .same, .older: nil
        }
    }

    /// What a reader does that has what is there: the keepers have its wish, and may have to wait themselves.
    private func wait() -> Next {
        guard wish != nil else { return .rest }
        guard view.record?.isLive == true, case .notBefore(let time) = takeover else { return .wait }
        return .postpone(time)
    }

    private func adopt() -> Next? {
        guard let record = view.record else { return nil }
        let (next, result) = memory.adopting(record)
        return .keep(next, telling: [.adopt(record)] + result)
    }

    /// Writes the host's own record over an older one: news, or a repair after a snapshot was restored.
    private func write() -> Next? {
        guard var record = memory.record else { return nil }
        if record.status == .out, let old = view.record, old.lineage == record.lineage {
            record.generation = max(record.generation, old.loggedOut().generation)
        }
        // From the first try on it may be there, and others may use it.
        guard record.cluster != FleetHeader.nowhere else {
            var next = memory
            next.record?.cluster = view.place.cluster
            return .keep(next, telling: [])
        }
        let isFirst = memory.isNews && record.cluster == view.place.cluster
        let mayBeSent = record.isLive && !isFirst && timing.reuse != .accepted
        let former = view.intent.flatMap { $0.concerns(record) ? $0 : nil }
        let lost = FleetIntent(lostFor: record, besides: former, at: view.time)
        return .transact(.write(record, over: view.record, mayBeSent ? lost : nil))
    }

    /// Declares what a restored snapshot may have lost, before anybody sends the refresh token again.
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

    // MARK: Late answers

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

    /// Whoever has the lock writes another record soon.
    private func reseal() -> Next? {
        guard let outsealed, view.record == outsealed, view.lock == nil else { return nil }
        return .transact(.reseal(outsealed, view.intent))
    }

    // MARK: Refreshing

    private func refresh() -> Next? {
        guard wish != nil else { return nil }
        guard let record = view.record, record.isLive else { return .notLive }
        switch takeover {
        case .held: return .wait
        case .notBefore(let time): return .postpone(time)
        // A late answer takes the record's place soon.
        case .now: return view.hasAnswer(to: record) ? .wait : .reserve
        }
    }

    /// Whether the refresh token of the record may be sent.
    var takeover: FleetTakeover {
        FleetTakeover(in: view, expiry: expiry, timing: timing)
    }

    /// What a session hears that has to wait, and the keepers if a reader waits.
    func told(to wish: PendingRefresh) -> [FleetAction] {
        (wish.isHeld ? [] : [.hold(wish.attempt)]) + asked
    }

    /// What the keepers hear if this host is a reader.
    var asked: [FleetAction] {
        guard role == .reader, let record = memory.record, view.wanted != record.generation else { return [] }
        return [.ask(generation: record.generation)]
    }

    /// When a host that waits looks again, in case the watch says nothing: as soon as the other's lease can be over.
    var nextLook: Duration {
        guard role == .keeper else { return FleetDecision.readersPause }
        let end = (view.presentIntent?.at ?? view.time) + (timing.lease + timing.margin)
        return max(end - view.time, timing.margin)
    }

    /// The longest that a host waits for its turn, so that there is time for another one inside a grace.
    var longestTurn: Duration {
        guard case .now(let left?) = takeover else { return timing.longestTurn }
        return left / 2
    }

    /// A reader's wish lies in etcd for a minute.
    private static let readersPause = Duration.seconds(60)
}
