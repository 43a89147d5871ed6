// SPDX-License-Identifier: MIT

import TokenCore

/// An event-driven simulation of hosts with the same sessions, their etcd and an authorization server.
///
/// The hosts' decisions are made by the real ``FleetMember``, and their due times by ``RefreshSchedule``.
/// Times are in nanoseconds since the beginning.
struct SimulatedFleet {
    /// The time a host's disk needs for a record, in nanoseconds.
    static let diskTime: Int64 = 2_000_000

    let plan: FleetPlan
    var course: Course
    var etcd: EtcdAccess
    var members: MemberTable
    var ledgers: [SessionLedger]
    /// The number of restarts of each host's process.
    var lives: [UInt32]
    /// The hosts that do not come back.
    var lost: Set<Int> = []
    private var attempts: UInt64 = 0
    var troubles = TroubleList()

    private let policy: SessionPolicy

    init(_ plan: FleetPlan, isWave: Bool) {
        self.plan = plan
        course = Course(chance: Chance(seed: plan.seed))
        let records = (0..<plan.sessions).map { session in
            FleetHeader(
                lineage: Lineage(number: 1, id: UInt128(session)),
                generation: 1,
                attempt: AttemptID(host: 1, random: 0),
                status: .live,
                proven: 0,
                tokenMark: 1,
                cluster: 1
            )
        }
        etcd = EtcdAccess(plan, records)
        members = MemberTable(count: plan.hosts * plan.sessions, timing: plan.timing)
        lives = [UInt32](repeating: 0, count: plan.hosts)
        policy = SessionPolicy(isShared: true)
        // The tokens have any age at which they are not due yet. In a wave, all were obtained at the same
        // time.
        let young = Double(plan.lifetime) * 0.55
        let chance = Chance(seed: plan.seed)
        ledgers = records.enumerated().map { session, record in
            let age = isWave ? 0 : chance.draw(session, 1, 1) * young
            return SessionLedger(record, obtainedAt: -Int64(age * Double(Course.second)))
        }
        for session in records.indices {
            for host in 0..<plan.hosts where plan.isMember(host, of: session) {
                _ = ledgers[session].adopt(0)
                schedule(host * plan.sessions + session)
            }
        }
    }

    func host(_ member: Int) -> Int { member / plan.sessions }
    func session(_ member: Int) -> Int { member % plan.sessions }

    func link(_ member: Int) -> Int { etcd.link(host(member), plan.etcd(of: session(member))) }

    /// Runs all events before `end`.
    mutating func run(until end: Int64) {
        while let (at, event) = course.agenda.next(before: end) {
            course.now = at
            happen(event)
        }
    }

    private mutating func happen(_ event: SimulatedEvent) {
        switch event {
        case .due(let member, let stamp): want(Int(member), stamp)
        case .wake(let member): wake(Int(member))
        case .change(let member): change(Int(member))
        case .processed(let call):
            etcd.process(Int(call), &course)
            etcd.release(Int(call))
        case .logged(let call):
            if let record = etcd.carryOut(Int(call), &course) {
                ledgers[session(etcd.calls[Int(call)].member)].commit(record, at: course.now)
            }
            etcd.release(Int(call))
        case .replied(let call): finish(Int(call), etcd.calls[Int(call)].outcome)
        case .expired(let call): finish(Int(call), .failed)
        case .heard(let fanOut): hear(Int(fanOut))
        case .kept(let member, let life): keep(Int(member), life)
        case .exchanged(let member, let life): exchange(Int(member), life)
        case .unanswered(let member, let life): giveUp(Int(member), life)
        case .leaseEnded(let session, let serial): etcd.endLease(Int(session), serial, &course)
        case .reconnect(let link, let life): reconnect(Int(link), life)
        case .fault(let index): suffer(Int(index))
        }
    }

    // MARK: Members

    /// Passes an event to a member, and performs the actions it returns.
    mutating func tell(_ index: Int, _ event: (inout FleetMember, Instant) -> [FleetAction]) {
        let record = ledgers[session(index)].entries[Int(members.known[index])].record
        let slot = members.wake(index, record)
        let actions = event(&members.active[slot].member, course.instant)
        for action in actions { perform(action, index, slot) }
        recordAuthor(index, slot)
        let wakeTime = members.active[slot].member.wakeTime?.nanoseconds
        if let wakeTime, members.active[slot].wakeAt != wakeTime {
            course.agenda.put(.wake(member: Int32(index)), at: max(wakeTime, course.now))
        }
        members.active[slot].wakeAt = wakeTime
        members.rest(index)
        if members.activeCount == 0 { recordRecovery() }
    }

    /// Performs an action of a member.
    private mutating func perform(_ action: FleetAction, _ index: Int, _ slot: Int) {
        switch action {
        case .look: call(.look, index)
        case .grantLease(let lifetime): call(.grant(lifetime), index)
        case .transact(let transaction): call(.transact(transaction), index)
        case .keep:
            let life = lives[host(index)]
            course.agenda.put(
                .kept(member: Int32(index), life: life),
                at: course.now + SimulatedFleet.diskTime
            )
        case .grant(let attempt, _, let until): send(index, attempt, until)
        case .hold: members.active[slot].isHeld = true
        case .postpone(_, let until):
            members.active[slot].isHeld = false
            due(index, at: until.nanoseconds)
        case .refuse: retry(index, slot)
        case .adopt:
            // The new record serves any pending refresh of the previous one.
            members.active[slot].member.refreshWithdrawn()
        // The simulated hosts store no refresh results.
        case .recover, .ask, .asked, .revoke, .finishNews: break
        }
    }

    mutating func call(_ kind: EtcdCall.Kind, _ index: Int) {
        if case .grant = kind { course.meter.add(.leases) }
        etcd.call(kind, index, link(index), life: lives[host(index)], &course)
    }

    mutating func nextAttempt(of index: Int) -> AttemptID {
        attempts += 1
        // 64 random bits, because the core derives the order of hosts from them.
        return AttemptID(
            host: UInt64(host(index)) + 1,
            random: course.chance.number(index, Int(attempts), 9)
        )
    }

    // MARK: Due times

    /// Schedules the refresh of the member's record.
    mutating func schedule(_ index: Int) {
        let known = Int(members.known[index])
        let entry = ledgers[session(index)].entries[known]
        due(index, at: dueTime(of: entry, jitter: jitter(index, known)).nanoseconds)
    }

    func dueTime(of entry: SessionLedger.Entry, jitter: Double) -> Instant {
        let obtainedAt = Instant(nanoseconds: entry.obtainedAt)
        let token = AccessToken(
            secret: SecretID(rawValue: 0),
            idToken: nil,
            tokenType: "Bearer",
            scope: [],
            obtainedAt: obtainedAt,
            expiresAt: obtainedAt + .seconds(plan.lifetime),
            jitter: jitter
        )
        return RefreshSchedule.dueTime(for: token, policy: policy) ?? obtainedAt
    }

    /// Returns the part of its window by which a refresh is brought forward.
    private func jitter(_ index: Int, _ known: Int) -> Double {
        let own = course.chance.draw(index, known, 2)
        let common = course.chance.draw(session(index), known, 3)
        switch plan.conduct.spreading {
        case .hosts: return own
        case .sessions: return 0.8 * common + 0.2 * own
        case .turns:
            let start = 0.5 + 0.5 * common
            let last = ledgers[session(index)].entries[known].record.attempt.host
            return last == UInt64(host(index)) + 1 ? start : (start - 0.1) * own
        }
    }

    mutating func due(_ index: Int, at time: Int64) {
        let stamp = members.stamp(index)
        course.agenda.put(.due(member: Int32(index), stamp: stamp), at: max(time, course.now))
    }

    /// Returns the jitter for a call without a response.
    mutating func nextJitter(of index: Int) -> Double {
        course.chance.draw(index, Int(members.stamp(index)), 4)
    }
}
