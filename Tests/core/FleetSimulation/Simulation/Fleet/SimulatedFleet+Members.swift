// SPDX-License-Identifier: MIT

import TokenCore

/// The requests of members, and the events they receive.
extension SimulatedFleet {
    /// Handles a session's request for a refresh.
    mutating func want(_ index: Int, _ stamp: UInt32) {
        guard members.stamps[index] == stamp, !lost.contains(host(index)) else { return }
        let entry = ledgers[session(index)].entries[Int(members.known[index])]
        let slot = members.wake(index, entry.record)
        members.active[slot].isBusy = true
        if members.active[slot].wantedAt == nil { members.active[slot].wantedAt = course.now }
        let attempt = nextAttempt(of: index)
        let expiry = Instant(nanoseconds: entry.obtainedAt + plan.lifetime * Course.second)
        tell(index) { $0.refreshWanted(as: attempt, expiry: expiry, at: $1) }
    }

    mutating func wake(_ index: Int) {
        guard members.slot(of: index) != nil, !lost.contains(host(index)) else { return }
        tell(index) { $0.timeReached($1) }
    }

    /// Sends the refresh token, as granted to an attempt.
    mutating func send(_ index: Int, _ attempt: AttemptID, _ until: Instant) {
        let slot = members.slot(of: index)
        if let slot { members.active[slot].isHeld = false }
        let life = lives[host(index)]
        let fence = slot.flatMap { members.active[$0].member.fence }
        guard course.instant < until, let fence else {
            tell(index) { $0.answered(.untouched, jitter: 0, at: $1) }
            if let slot { retry(index, slot) }
            return
        }
        recordRequest(attempt, index)
        if troubles.losesKeeper {
            troubles.losesKeeper = false
            return lose(host(index))
        }
        let answered = course.now + plan.responseTime
        guard answered < fence.endBefore.nanoseconds else {
            let event = SimulatedEvent.unanswered(member: Int32(index), life: life)
            return course.agenda.put(event, at: max(course.now, fence.endBefore.nanoseconds))
        }
        course.agenda.put(.exchanged(member: Int32(index), life: life), at: answered)
    }

    /// Ends a request without a response.
    ///
    /// The session tries again at once.
    mutating func giveUp(_ index: Int, _ life: UInt32) {
        guard life == lives[host(index)] else { return }
        tell(index) { $0.answered(.unanswered, jitter: 0, at: $1) }
        due(index, at: course.now)
    }

    private mutating func recordRequest(_ attempt: AttemptID, _ index: Int) {
        let known = Int(members.known[index])
        let isFirst = ledgers[session(index)].send(attempt, of: known, at: course.now)
        if let grace = plan.grace,
            ledgers[session(index)].age(of: known, at: course.now) > grace * Course.second
        {
            course.meter.add(.lostLogins)
        }
        let earliest = dueTime(of: ledgers[session(index)].entries[known], jitter: 1)
        let isEarly = course.instant < earliest
        course.meter.add(.requests)
        if isEarly { course.meter.add(.early) } else if isFirst { course.meter.add(.expiries) }
    }

    mutating func exchange(_ index: Int, _ life: UInt32) {
        guard life == lives[host(index)] else { return }
        let mark = course.chance.number(index, Int(course.now), 5)
        tell(index) { $0.answered(.tokens(tokenMark: mark), jitter: 0, at: $1) }
    }

    mutating func keep(_ index: Int, _ life: UInt32) {
        guard life == lives[host(index)], members.slot(of: index) != nil else { return }
        tell(index) { $0.kept(at: $1) }
    }

    /// Schedules another try after a temporary failure.
    mutating func retry(_ index: Int, _ slot: Int) {
        members.active[slot].isHeld = false
        members.failures[index] = min(members.failures[index], 100) + 1
        let failures = Int(members.failures[index])
        let entry = ledgers[session(index)].entries[Int(members.known[index])]
        let end = Instant(nanoseconds: entry.obtainedAt + plan.lifetime * Course.second)
        let delay = RetrySchedule.backoff(
            failures: failures,
            cap: RetrySchedule.cap(tokenExpiresAt: end, now: course.instant),
            jitter: course.chance.draw(index, Int(members.stamps[index]), 6)
        )
        due(index, at: course.now + delay.saturatedNanoseconds)
    }

    /// Updates the counts if a member's record has changed.
    mutating func recordAuthor(_ index: Int, _ slot: Int) {
        let (session, old) = (session(index), Int(members.known[index]))
        guard let record = members.active[slot].member.memory.record,
            record != ledgers[session].entries[old].record,
            let new = ledgers[session].index(of: record)
        else { return }
        let now = course.now
        let expiry = ledgers[session].entries[old].obtainedAt + plan.lifetime * Course.second
        if now > expiry { course.meter.add(.without, now - expiry) }
        let entry = ledgers[session].entries[new]
        if entry.record.attempt.host == UInt64(host(index)) + 1 {
            if let wantedAt = members.active[slot].wantedAt { course.meter.add(.refresh, now - wantedAt) }
        } else {
            course.meter.add(.publish, now - entry.committedAt)
        }
        let hosts = (plan.hosts - session % plan.groups + plan.groups - 1) / plan.groups
        if ledgers[session].adopt(new) == hosts - lost.count {
            course.meter.add(.lastHost, now - entry.committedAt)
        }
        members.known[index] = Int32(new)
        members.failures[index] = 0
        members.active[slot].wantedAt = nil
        members.active[slot].isHeld = false
        schedule(index)
    }

    // MARK: Calls

    /// Handles the end of a call to etcd.
    mutating func finish(_ index: Int, _ outcome: EtcdCall.Outcome) {
        let call = etcd.calls[index]
        defer { etcd.release(index) }
        guard !call.isOver else { return }
        let host = call.link / plan.etcds
        guard call.life == lives[host], !lost.contains(host) else {
            return etcd.update(index) { $0.isOver = true }
        }
        etcd.finish(index, &course)
        if case .failed = outcome { course.meter.add(.timeouts) }
        switch call.kind {
        case .look, .grant, .transact: answer(call, outcome)
        case .readAll: readAll(call.link, outcome)
        case .watch: watch(call.link, outcome)
        }
    }

    private mutating func answer(_ call: EtcdCall, _ outcome: EtcdCall.Outcome) {
        guard members.slot(of: call.member) != nil else { return }
        let place = FleetRevision(cluster: 1, revision: call.revision)
        switch (call.kind, outcome) {
        case (.look, .seen(let change)):
            var view = etcd.changes[change].view
            view.place = place
            view.time = course.date
            tell(call.member) { $0.looked(view, at: $1) }
        case (.look, _):
            let jitter = nextJitter(of: call.member)
            tell(call.member) { $0.callFailed(jitter: jitter, at: $1) }
        case (.grant(let lease), .granted):
            tell(call.member) { $0.leaseGranted(lease, place, at: $1) }
        case (.grant, _):
            let jitter = nextJitter(of: call.member)
            tell(call.member) { $0.callFailed(jitter: jitter, at: $1) }
        case (.transact(let transaction), .transacted(let isDone)):
            if !isDone, transaction.takesLock { course.meter.add(.lostRaces) }
            tell(call.member) { $0.transacted(isDone, place, at: $1) }
        default: tell(call.member) { $0.transactionUnanswered(at: $1) }
        }
    }
}
