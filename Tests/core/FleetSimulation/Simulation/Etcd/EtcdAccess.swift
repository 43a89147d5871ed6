// SPDX-License-Identifier: MIT

import TokenCore

/// The etcd clusters and the calls of all hosts.
struct EtcdAccess {
    /// The maximum number of concurrent calls of a host to one cluster: the connections that its HTTP client
    /// opens.
    static let maximumInFlight: Int32 = 8
    /// The time after which a host abandons a call.
    static let timeout = 5 * Course.second
    /// The time after which the HTTP client closes an unused connection.
    static let maximumIdle = 60 * Course.second
    /// The time after which an unused token of etcd expires.
    static let tokenIdle = 300 * Course.second

    let plan: FleetPlan
    var etcds: [SimulatedEtcd]
    var links: [HostLink]
    var keys: [SessionKeyValues]
    /// The index of each session's latest change.
    var latest: [Int32]
    private(set) var changes: [KeyChange] = []
    private(set) var calls: [EtcdCall] = []
    private var freeCalls: [Int32] = []
    var fanOuts: [FanOut] = []
    var freeFanOuts: [Int32] = []
    /// The duration of the lease last granted to a member.
    var leases: [Int: Duration] = [:]
    /// The number of locks taken for each session, which tells whether a lease belongs to the current lock.
    var locks: [Int32]

    init(_ plan: FleetPlan, _ records: [FleetHeader]) {
        self.plan = plan
        etcds = (0..<plan.etcds).map { _ in SimulatedEtcd(members: plan.members, cores: plan.cores) }
        var link = HostLink()
        link.isWatching = true
        links = [HostLink](repeating: link, count: plan.hosts * plan.etcds)
        keys = records.map(SessionKeyValues.init)
        latest = records.indices.map(Int32.init)
        locks = [Int32](repeating: 0, count: records.count)
        for session in records.indices {
            changes.append(change(of: session, revision: 1, bytes: 0, putsRecord: true, unlocks: false, 0))
        }
    }

    func link(_ host: Int, _ etcd: Int) -> Int { host * plan.etcds + etcd }

    func change(
        of session: Int,
        revision: Int64,
        bytes: Int,
        putsRecord: Bool,
        unlocks: Bool,
        _ now: Int64
    ) -> KeyChange {
        let place = FleetRevision(cluster: 1, revision: revision)
        return KeyChange(
            session: session,
            revision: revision,
            view: keys[session].view(place, Course.date(at: now)),
            bytes: bytes,
            putsRecord: putsRecord,
            unlocks: unlocks
        )
    }

    mutating func note(_ change: KeyChange) -> Int {
        changes.append(change)
        latest[change.session] = Int32(changes.count - 1)
        return changes.count - 1
    }

    // MARK: Calls

    /// Makes a call as soon as the host has a connection for it.
    mutating func call(
        _ kind: EtcdCall.Kind,
        _ member: Int,
        _ link: Int,
        life: UInt32,
        _ course: inout Course
    ) {
        let call = EtcdCall(kind: kind, member: member, link: link, life: life)
        let index: Int
        if let free = freeCalls.popLast() {
            index = Int(free)
            calls[index] = call
        } else {
            index = calls.count
            calls.append(call)
        }
        if case .watch = kind { return launch(index, &course) }
        guard links[link].underway < EtcdAccess.maximumInFlight else {
            return links[link].waiting.append(Int32(index))
        }
        links[link].underway += 1
        launch(index, &course)
    }

    private mutating func launch(_ index: Int, _ course: inout Course) {
        let (now, link) = (course.now, calls[index].link)
        let (host, etcd) = (link / plan.etcds, link % plan.etcds)
        calls[index].etcdLife = etcds[etcd].life
        calls[index].deadline = now + EtcdAccess.timeout
        guard !links[link].isUnreachable else {
            return put(.expired(call: Int32(index)), index, at: now + EtcdAccess.timeout, &course)
        }
        guard etcds[etcd].isUp else {
            // The connection is refused.
            return put(.expired(call: Int32(index)), index, at: now + plan.costs.roundTrip, &course)
        }
        let (cost, delay) = connect(index, &course)
        let arrival = now + plan.costs.roundTrip / 2 + delay
        course.meter.add(.queue, etcds[etcd].wait(for: host, at: arrival))
        let done = etcds[etcd].work(cost, for: host, at: arrival)
        count(index, &course)
        put(.processed(call: Int32(index)), index, at: done, &course)
        if done > calls[index].deadline {
            put(.expired(call: Int32(index)), index, at: calls[index].deadline, &course)
        }
    }

    /// Returns the cost of a call with the connection and the authentication it needs first, and their delay.
    private mutating func connect(_ index: Int, _ course: inout Course) -> (cost: Int64, delay: Int64) {
        let (now, link) = (course.now, calls[index].link)
        var cost = workload(calls[index].kind, host: link / plan.etcds)
        var delay: Int64 = 0
        if now - links[link].lastUse > EtcdAccess.maximumIdle { links[link].connections = 0 }
        let isWatch = if case .watch = calls[index].kind { true } else { false }
        if isWatch || links[link].underway > links[link].connections {
            if !isWatch { links[link].connections += 1 }
            course.meter.add(.connections)
            cost += plan.costs.handshake
            delay += 2 * plan.costs.roundTrip
        }
        if plan.authentication != .none, now >= links[link].authorizedUntil {
            course.meter.add(.authentications)
            cost += plan.authenticationCost
            delay += plan.costs.roundTrip
        }
        links[link].authorizedUntil = now + EtcdAccess.tokenIdle
        links[link].lastUse = now
        return (cost, delay)
    }

    private func workload(_ kind: EtcdCall.Kind, host: Int) -> Int64 {
        let costs = plan.costs
        return switch kind {
        case .look: costs.range
        case .grant: costs.grant
        case .transact(let transaction):
            transaction.putsRecord ? costs.largeTransaction : costs.smallTransaction
        case .readAll:
            costs.range + costs.furtherSession * Int64(plan.sessions / plan.groups / plan.etcds)
        case .watch: costs.watch
        }
    }

    private mutating func count(_ index: Int, _ course: inout Course) {
        switch calls[index].kind {
        case .look, .readAll: course.meter.add(.reads, at: course.now)
        case .grant, .transact: course.meter.add(.writes, at: course.now)
        case .watch: break
        }
    }

    mutating func put(_ event: SimulatedEvent, _ index: Int, at time: Int64, _ course: inout Course) {
        calls[index].events += 1
        course.agenda.put(event, at: max(time, course.now))
    }

    mutating func update(_ index: Int, _ change: (inout EtcdCall) -> Void) { change(&calls[index]) }

    /// Records that an event of a call has happened, and frees the call after its last event.
    mutating func release(_ index: Int) {
        calls[index].events -= 1
        guard calls[index].events == 0 else { return }
        calls[index].kind = .look
        calls[index].outcome = .failed
        freeCalls.append(Int32(index))
    }

    /// Ends the host's wait for a call, and starts the next waiting one.
    mutating func finish(_ index: Int, _ course: inout Course) {
        calls[index].isOver = true
        if case .watch = calls[index].kind { return }
        let link = calls[index].link
        guard links[link].underway > 0 else { return }
        guard !links[link].waiting.isEmpty else {
            links[link].underway -= 1
            return
        }
        launch(Int(links[link].waiting.removeFirst()), &course)
    }

    /// Resets the connections of a host that has stopped or lost them, and drops its waiting calls.
    mutating func reset(_ link: Int) {
        for waiting in links[link].waiting { freeCalls.append(waiting) }
        let (heard, isUnreachable) = (links[link].heard, links[link].isUnreachable)
        links[link] = HostLink()
        links[link].heard = heard
        links[link].isUnreachable = isUnreachable
    }

    /// Whether every host receives every change.
    var isWholeWatched: Bool { links.allSatisfy { $0.isWatching && !$0.hasGap } }
}
