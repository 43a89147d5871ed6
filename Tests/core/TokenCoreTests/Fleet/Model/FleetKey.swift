// SPDX-License-Identifier: MIT

@testable import TokenCore

/// A 128-bit key of a world.
///
/// Worlds with the same future have the same key.
///
/// Attempts, logins and refresh tokens are numbered in the order in which they are encoded. Times are relative to now,
/// and all past times are equal.
struct FleetKey: Hashable {
    let low: UInt64
    let high: UInt64

    init(_ world: FleetWorld) {
        var encoder = Encoder(world)
        encoder.encode()
        low = encoder.low
        high = encoder.high
    }

    /// Mixes added values into the two halves of the key.
    struct Encoder {
        let world: FleetWorld
        var low: UInt64 = 0x9E37_79B9_7F4A_7C15
        var high: UInt64 = 0xD1B5_4A32_D192_ED03
        var attempts: [AttemptID] = []
        var tokens: [Int] = []
        var logins: [Lineage] = []
        let takeoverTimeout: Int64
        let grace: Int64

        init(_ world: FleetWorld) {
            self.world = world
            takeoverTimeout = world.habit == .keeps ? 0 : world.habit.timing.takeoverTimeout.wholeSeconds
            grace = world.habit.hasGrace ? Habit.grace : 0
        }

        mutating func add(_ value: UInt64) {
            low = (low ^ value) &* 0xFF51_AFD7_ED55_8CCD
            low ^= low >> 32
            high = (high &+ value) &* 0xC4CE_B9FE_1A85_EC53
            high ^= high >> 29
        }

        mutating func add(_ value: Int) { add(UInt64(bitPattern: Int64(value))) }
        mutating func add(_ value: Bool) { add(value ? 1 : 0) }

        mutating func add(_ attempt: AttemptID) {
            guard attempt != .lost else { return add(99) }
            add(FleetKey.index(of: attempt, in: &attempts))
        }

        mutating func add(token: Int) { add(FleetKey.index(of: token, in: &tokens)) }

        /// Adds the login's place in the order of logins, and the time until the next one may follow.
        mutating func add(_ lineage: Lineage) {
            let known = logins.count
            add(FleetKey.index(of: lineage, in: &logins))
            guard known < logins.count else { return }
            for other in logins { add(other.number < lineage.number) }
            for other in logins { add(other.number > lineage.number) }
            add(world.written.contains(lineage))
            add(until: Int64(lineage.number) + 1)
        }

        /// Adds the age of an instant, which is at most `limit`.
        mutating func add(age of: Int64, upTo limit: Int64) {
            add(UInt64(min(max(world.now - of, 0), limit)))
        }
        /// Adds the time until an instant, or 0 if it has passed.
        mutating func add(until then: Int64) { add(UInt64(max(then - world.now, 0))) }
    }

    static func index<Value: Equatable>(of value: Value, in known: inout [Value]) -> Int {
        if let index = known.firstIndex(of: value) { return index }
        known.append(value)
        return known.count - 1
    }
}

extension FleetKey.Encoder {
    mutating func encode() {
        add(world.budget)
        add(world.isDue)
        add(world.isOut)
        add(world.wasRestored)
        add(world.current)
        add(world.etcd)
        add(world.snapshot != nil)
        if let snapshot = world.snapshot {
            add(snapshot)
            add(snapshot.place.revision == world.etcd.place.revision)
        }
        for host in world.hosts { add(host) }
        add(world.orphans.count)
        for request in world.orphans { add(request) }
        add(world.delayed.count)
        for late in world.delayed {
            add(until: late.leaseEnds)
            add(late.isUnpublished)
            add(late.sealing == world.etcd.sealing)
            for condition in late.transaction.conditions { add(condition) }
            for change in late.transaction.changes { add(change) }
        }
        addTokens()
    }

    mutating func add(_ budget: FleetWorld.Budget) {
        let left = [
            budget.due, budget.slow, budget.crash, budget.kill, budget.gone, budget.lost, budget.tardy,
            budget.unanswered,
            budget.login, budget.logout, budget.gateway, budget.busy, budget.lag, budget.ended,
            budget.rekey, budget.restore, budget.late,
        ]
        for count in left { add(count) }
    }

    mutating func add(_ header: FleetHeader?) {
        guard let header else { return add(0) }
        add(header.lineage)
        add(header.generation)
        add(header.attempt)
        switch header.status {
        case .live: add(1)
        case .rescued: add(2)
        case .dead(let reason): add(reason == .sessionTooOld ? 5 : 3)
        case .out: add(4)
        }
        add(header.proven)
        add(token: header.token)
        add(header.cluster)
    }

    mutating func add(_ intent: FleetIntent?) {
        guard let intent else { return add(0) }
        add(intent.lineage)
        add(intent.generation)
        add(intent.attempt)
        add(age: intent.at.seconds, upTo: intent.isRefused ? max(takeoverTimeout, 30) : takeoverTimeout)
        add(intent.isRefused)
        add(age: intent.first.seconds, upTo: grace)
        add(intent.before.count)
        for attempt in intent.before { add(attempt) }
    }

    mutating func add(_ late: LateResponse) {
        add(late.lineage)
        add(late.parent)
        add(late.attempt)
        add(token: Int(late.tokenMark) - 1)
        add(late.cluster)
    }

    mutating func add(_ place: FleetRevision?) {
        guard let place else { return add(0) }
        add(place.cluster)
        add(place.revision > world.etcd.place.revision)
    }

    mutating func add(_ etcd: ModelEtcd) {
        add(etcd.record)
        add(etcd.intent)
        add(etcd.lock != nil)
        if let lock = etcd.lock {
            add(lock.attempt)
            add(until: lock.endsAt)
        }
        add(etcd.lateResults.count)
        for late in etcd.lateResults { add(late) }
        add(etcd.place.cluster)
    }

    mutating func add(_ memory: FleetPersistentState) {
        add(memory.record)
        add(memory.isUnpublished)
        add(memory.isRestored)
        add(memory.sending != nil)
        if let sending = memory.sending {
            add(sending.parent)
            add(sending.intent)
            add(sending.cluster)
        }
        add(memory.answer != nil)
        if let answer = memory.answer {
            add(answer.parent)
            add(answer.intent)
            add(token: Int(answer.tokenMark) - 1)
            add(answer.cluster)
            add(answer.placedIn ?? 0)
        }
        add(memory.place)
    }

    mutating func add(_ request: FleetWorld.Request) {
        add(token: request.token)
        add(request.attempt)
        add(age: request.sentAt, upTo: world.habit.timing.request.wholeSeconds)
        add(request.isExcused)
        add(request.keeper ?? -1)
        switch request.answer {
        case nil: add(0)
        case .tokens(let mark): add(token: Int(mark) - 1)
        case .refused, .untouched, .unanswered: add(98)
        }
        // The deadline has no effect before a response is delayed.
        if request.answer != nil { add(until: request.readDeadline) }
    }

    mutating func add(_ host: FleetWorld.Host) {
        add(host.isGone)
        guard !host.isGone else { return }
        add(host.disk)
        switch host.recording {
        case nil: add(0)
        case .tokens(let mark): add(token: Int(mark) - 1)
        case .refused, .untouched, .unanswered: add(98)
        }
        add(host.member != nil)
        guard let member = host.member else { return }
        if member.memory != host.disk { add(member.memory) }
        add(host.isPaused)
        add(host.isOverLate)
        add(host.isAsking)
        add(host.sealing == world.etcd.sealing)
        if let snapshot = world.snapshot { add(host.sealing == snapshot.sealing) }
        add(host.heard != nil)
        if let heard = host.heard {
            add(heard.record)
            add(heard.intent)
            add(heard.lock != nil)
            if let lock = heard.lock { add(lock) }
            for late in heard.lateResults { add(late) }
            add(heard.place.cluster)
            add(heard.place.contradicts(member.memory.place ?? heard.place))
        }
        if let tokens = host.tokens { add(tokens) }
        add(until: host.postponed)
        add(host.request != nil)
        if let request = host.request { add(request) }
        add(host.pending, host)
        add(member)
    }

    mutating func add(_ member: FleetMember) {
        add(member.pendingRefresh != nil)
        if let pendingRefresh = member.pendingRefresh {
            add(pendingRefresh.attempt)
            add(pendingRefresh.isHeld)
            if world.hasTurns { add(pendingRefresh.turns) }
            let turn = pendingRefresh.turn.map { max($0.nanoseconds - world.instant.nanoseconds, 0) }
            add(Int(turn ?? -1))
        }
        add(member.news)
        add(member.lookout.isStale)
        add(member.outsealed)
        add(member.hold != nil)
        if let hold = member.hold {
            add(hold.record)
            add(hold.intent)
            add(hold.former)
            add(until: hold.deadline.seconds)
            if world.budget.tardy > 0 { add(until: hold.readDeadline.seconds) }
            add(hold.place)
            switch hold.stage {
            case .reserving: add(1)
            case .granted: add(2)
            case .untouched: add(3)
            case .unanswered: add(4)
            case .refused: add(5)
            case .doubted: add(6)
            }
        }
        add(member.delays)
        add(member.refusals?.attempts.count ?? 0)
        if let refusals = member.refusals {
            add(token: Int(refusals.tokenMark) - 1)
            for attempt in refusals.attempts { add(attempt) }
        }
    }
}
