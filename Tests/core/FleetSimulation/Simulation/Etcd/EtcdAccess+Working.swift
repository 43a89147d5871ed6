// SPDX-License-Identifier: MIT

import TokenCore

/// The processing of calls in etcd, and the delivery of their changes to the watchers.
extension EtcdAccess {
    /// Handles the end of a member's work on a call: a read is answered, and a write goes to the log.
    mutating func process(_ index: Int, _ course: inout Course) {
        let (call, now) = (calls[index], course.now)
        let (host, etcd) = (call.link / plan.etcds, call.link % plan.etcds)
        guard etcds[etcd].life == call.etcdLife else { return fail(index, &course) }
        guard !links[call.link].isUnreachable else {
            guard !call.isOver, call.events == 1 else { return }
            return put(.expired(call: Int32(index)), index, at: call.deadline, &course)
        }
        switch call.kind {
        case .look, .readAll:
            etcds[etcd].share(plan.costs.readIndex, besides: host, at: now)
            guard !call.isOver else { return }
            let outcome = seen(call, etcd)
            answer(index, outcome, &course)
        case .watch:
            guard !call.isOver else { return }
            answer(index, .watching, &course)
        case .grant, .transact:
            etcds[etcd].share(plan.costs.replication, besides: host, at: now)
            put(
                .logged(call: Int32(index)),
                index,
                at: etcds[etcd].log(plan.costs.logBatch, at: now),
                &course
            )
        }
    }

    private func seen(_ call: EtcdCall, _ etcd: Int) -> EtcdCall.Outcome {
        guard case .readAll = call.kind else {
            return .seen(change: Int(latest[call.member % plan.sessions]))
        }
        let host = call.link / plan.etcds
        let own = latest.indices.filter { plan.etcd(of: $0) == etcd && plan.isMember(host, of: $0) }
        return .seenAll(own.map { latest[$0] })
    }

    /// Applies a write, which is in the log now.
    ///
    /// - Returns: the record that it wrote.
    mutating func carryOut(_ index: Int, _ course: inout Course) -> FleetHeader? {
        let call = calls[index]
        let etcd = call.link % plan.etcds
        guard etcds[etcd].life == call.etcdLife else {
            fail(index, &course)
            return nil
        }
        if case .grant(let lifetime) = call.kind { leases[call.member] = lifetime }
        let lifetime = leases[call.member] ?? plan.timing.lease
        guard case .transact(let transaction) = call.kind else {
            let end = course.now + lifetime.saturatedNanoseconds
            course.agenda.put(.leaseEnded(session: Int32(call.member % plan.sessions), serial: 0), at: end)
            answer(index, .granted, &course)
            return nil
        }
        let session = call.member % plan.sessions
        let before = (record: keys[session].record, lock: keys[session].lock)
        let isDone = keys[session].apply(transaction)
        if isDone {
            etcds[etcd].advance()
            let after = keys[session]
            if after.lock != nil, after.lock != before.lock { lease(session, lifetime, &course) }
            let change = change(
                of: session,
                revision: etcds[etcd].revision,
                bytes: transaction.responseBytes,
                putsRecord: after.record != before.record,
                unlocks: before.lock != nil && after.lock == nil,
                course.now
            )
            fanOut(note(change), &course)
        }
        answer(index, .transacted(isDone), &course)
        return isDone && keys[session].record != before.record ? keys[session].record : nil
    }

    private mutating func lease(_ session: Int, _ lifetime: Duration, _ course: inout Course) {
        locks[session] += 1
        let end = course.now + lifetime.saturatedNanoseconds
        course.agenda.put(.leaseEnded(session: Int32(session), serial: locks[session]), at: end)
    }

    /// Handles the expiry of a lease, which is one more write.
    ///
    /// `serial` is that of the lock that the lease may still hold, or 0 for none.
    mutating func endLease(_ session: Int, _ serial: Int32, _ course: inout Course) {
        let etcd = plan.etcd(of: session)
        guard etcds[etcd].isUp else {
            let event = SimulatedEvent.leaseEnded(session: Int32(session), serial: serial)
            return course.agenda.put(event, at: course.now + Course.second)
        }
        guard serial > 0 else {
            course.meter.add(.writes, at: course.now)
            for member in 0..<plan.members {
                _ = etcds[etcd].respond(member, plan.costs.replication, at: course.now)
            }
            return
        }
        guard locks[session] == serial, keys[session].lock != nil else { return }
        keys[session].unlock()
        etcds[etcd].advance()
        let change = change(
            of: session,
            revision: etcds[etcd].revision,
            bytes: EtcdCosts.responseBytes + EtcdCosts.deletionBytes,
            putsRecord: false,
            unlocks: true,
            course.now
        )
        fanOut(note(change), &course)
    }

    // MARK: Responses

    private mutating func answer(_ index: Int, _ outcome: EtcdCall.Outcome, _ course: inout Course) {
        guard !calls[index].isOver else { return }
        let etcd = calls[index].link % plan.etcds
        let revision = etcds[etcd].revision
        update(index) { call in
            call.outcome = outcome
            call.revision = revision
        }
        let arrival = course.now + plan.costs.roundTrip / 2
        guard arrival <= calls[index].deadline else {
            return put(.expired(call: Int32(index)), index, at: calls[index].deadline, &course)
        }
        put(.replied(call: Int32(index)), index, at: arrival, &course)
    }

    private mutating func fail(_ index: Int, _ course: inout Course) {
        guard !calls[index].isOver else { return }
        put(.expired(call: Int32(index)), index, at: course.now, &course)
    }

    // MARK: Watches

    /// Sends a change to all watchers.
    private mutating func fanOut(_ change: Int, _ course: inout Course) {
        let (session, bytes) = (changes[change].session, changes[change].bytes)
        let etcd = plan.etcd(of: session)
        var fanOuts = (0..<plan.members).map { _ in FanOut(change: change, hosts: [], times: []) }
        let cost = plan.costs.response + plan.costs.responseByte * Int64(bytes)
        // The first host varies, so that no host is always the first.
        let start = Int(course.chance.number(change, 7, 0) % UInt64(plan.hosts))
        for offset in 0..<plan.hosts {
            let host = (start + offset) % plan.hosts
            guard hears(host, session, etcd) else { continue }
            let member = etcds[etcd].member(of: host)
            let done = etcds[etcd].respond(member, cost, at: course.now)
            course.meter.add(.responses, at: done)
            course.meter.add(.bytes, bytes, at: done)
            fanOuts[member].hosts.append(Int32(host))
            fanOuts[member].times.append(done + plan.costs.roundTrip / 2)
        }
        for fanOut in fanOuts where !fanOut.hosts.isEmpty { send(fanOut, &course) }
    }

    private func hears(_ host: Int, _ session: Int, _ etcd: Int) -> Bool {
        let link = links[link(host, etcd)]
        guard link.isWatching, !link.isUnreachable else { return false }
        return plan.conduct.watching == .everything || plan.isMember(host, of: session)
    }

    private mutating func send(_ fanOut: FanOut, _ course: inout Course) {
        let index: Int
        if let free = freeFanOuts.popLast() {
            index = Int(free)
            fanOuts[index] = fanOut
        } else {
            index = fanOuts.count
            fanOuts.append(fanOut)
        }
        course.agenda.put(.heard(fanOut: Int32(index)), at: fanOut.times[0])
    }

    /// Delivers a response to the next host of a fan-out.
    mutating func deliver(_ index: Int, _ course: inout Course) -> (host: Int, change: Int) {
        let (position, change) = (fanOuts[index].next, fanOuts[index].change)
        let host = Int(fanOuts[index].hosts[position])
        fanOuts[index].next += 1
        if position + 1 < fanOuts[index].hosts.count {
            course.agenda.put(.heard(fanOut: Int32(index)), at: fanOuts[index].times[position + 1])
        } else {
            fanOuts[index].hosts = []
            fanOuts[index].times = []
            freeFanOuts.append(Int32(index))
        }
        return (host, change)
    }

    /// Resumes a watch, which sends the responses that it missed.
    ///
    /// - Returns: the latest change of each session that the watch had not reported.
    mutating func resume(_ link: Int, _ course: inout Course) -> [Int] {
        let (host, etcd, heard) = (link / plan.etcds, link % plan.etcds, links[link].heard)
        links[link].isWatching = true
        links[link].watchFailures = 0
        let member = etcds[etcd].member(of: host)
        // From the newest change back to the first known one.
        for change in changes.reversed() {
            guard change.revision > heard || plan.etcd(of: change.session) != etcd else { break }
            guard plan.etcd(of: change.session) == etcd else { continue }
            let cost = plan.costs.response + plan.costs.responseByte * Int64(change.bytes)
            let done = etcds[etcd].respond(member, cost, at: course.now)
            course.meter.add(.responses, at: done)
            course.meter.add(.bytes, change.bytes, at: done)
        }
        return latest.map(Int.init).filter { index in
            changes[index].revision > heard && plan.etcd(of: changes[index].session) == etcd
                && plan.isMember(host, of: changes[index].session)
        }
    }
}
