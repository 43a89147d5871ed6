// SPDX-License-Identifier: MIT

@testable import TokenCore

extension FleetWorld {
    /// Returns the world after `move`.
    ///
    /// Its ``violation`` is set if the move broke an invariant.
    func after(_ move: FleetMove) -> FleetWorld {
        var next = self
        next.violation = nil
        next.apply(move)
        if next.violation == nil { next.violation = next.wrong(since: self, by: move) }
        return next
    }

    private mutating func apply(_ move: FleetMove) {
        let instant = instant
        switch move {
        case .due:
            budget.due -= 1
            isDue = true
        case .useless: isDue = true
        case .timePasses: passTime()
        case .leaseEnds: etcd.lock = nil
        case .snapshot: snapshot = etcd
        case .restore: restore()
        case .look, .hear, .show: watch(move)
        case .wake(let index): tell(index) { $0.timeReached(instant) }
        case .want(let index):
            let attempt = nextAttempt(of: index)
            hosts[index].isAsking = true
            tell(index) { $0.refreshWanted(as: attempt, expiry: nil, at: instant) }
        case .transact(let index, let fate): transact(index, fate)
        case .keep(let index):
            guard case .keep(let memory) = take(index) else { return }
            finishKeeping(memory, index)
        case .send(let index): send(index)
        case .serve, .lose, .slow, .deliver, .cut, .gateway, .busy, .lag, .orphan: exchange(move)
        case .ended:
            budget.ended -= 1
            server.ended.insert(server.families)
        case .recover(let index):
            guard case .recover = take(index) else { return }
            let answer = fault == .recordingForgotten ? nil : hosts[index].recording
            end(index, answer ?? .unanswered)
        case .crash, .kill, .restart, .destroy: startOrStop(move)
        case .login, .logout, .rekey: person(move)
        case .delayed(let index, let arrives):
            let late = delayed.remove(at: index)
            if arrives { _ = carryOut(late) }
        }
    }

    private mutating func watch(_ move: FleetMove) {
        switch move {
        case .look(let index):
            hosts[index].isPaused = false
            watch(index, isShown ? shown(to: index) : nil)
        case .hear(let index):
            budget.late -= 1
            hosts[index].heard = shown(to: index)
        case .show(let index):
            watch(index, hosts[index].heard)
            hosts[index].heard = nil
        default: break
        }
    }

    /// Delivers `view` to the host's watch, or only the news that something has changed.
    private mutating func watch(_ index: Int, _ view: FleetSnapshot?) {
        let instant = instant
        if view?.place == etcd.place { hosts[index].sealing = etcd.sealing }
        guard var view else { return tell(index) { $0.changed(at: instant) } }
        view.time = FleetTime(seconds: now)
        tell(index) { $0.shown(view, at: instant) }
    }

    private mutating func passTime() {
        guard let next = nextInstant else { return }
        if pausesSomebody {
            budget.slow -= 1
            for index in hosts.indices where isBusy(hosts[index]) { hosts[index].isPaused = true }
        }
        now = next
    }

    private mutating func restore() {
        guard let snapshot else { return }
        budget.restore -= 1
        let (cluster, sealings) = (etcd.place.cluster, etcd.sealings)
        etcd = snapshot
        etcd.place.cluster = cluster + 1
        etcd.sealings = sealings
        etcd.lock = nil
        self.snapshot = nil
        delayed = []
        wasRestored = true
        isDue = true
    }

    /// Removes and returns the pending action of the host.
    mutating func take(_ index: Int) -> FleetAction? {
        let pending = hosts[index].pending
        hosts[index].pending = nil
        hosts[index].isPaused = false
        return pending
    }

    // MARK: etcd

    private mutating func transact(_ index: Int, _ fate: FleetMove.Fate) {
        guard case .transact(let transaction) = take(index), let member = hosts[index].member,
            case .transacting(let errand) = member.step
        else { return }
        let sent = Delayed(
            transaction: transaction,
            errand: errand,
            isUnpublished: member.memory.isUnpublished,
            leaseEnds: hosts[index].leaseEnds,
            sealing: hosts[index].sealing
        )
        let instant = instant
        if fate != .answered { budget.unanswered -= 1 }
        if fate == .delayed { delayed.append(sent) }
        guard fate == .answered || fate == .carriedOutUnanswered else {
            return tell(index) { $0.transactionUnanswered(at: instant) }
        }
        let isDone = carryOut(sent)
        if isDone, case .reserve = errand, let record = etcd.record {
            hosts[index].isOverLate = etcd.view(at: now).hasAnswer(to: record)
        }
        // The host knows the sealing of its own write.
        if isDone, fate == .answered { hosts[index].sealing = etcd.sealing }
        guard fate == .answered else { return tell(index) { $0.transactionUnanswered(at: instant) } }
        let place = shownPlace(to: member)
        tell(index) { $0.transacted(isDone, place, at: instant) }
    }

    private func shownPlace(to member: FleetMember) -> FleetRevision {
        var place = etcd.place
        if fault == .restoreUnseen { place.cluster = 1 }
        if fault == .revisionsCompared, let hold = member.hold {
            place = FleetRevision(cluster: hold.place.cluster, revision: hold.place.revision + 1)
        }
        return place
    }

    private mutating func carryOut(_ sent: Delayed) -> Bool {
        let (before, intent) = (etcd.record, etcd.intent)
        guard etcd.apply(sent.transaction, leaseEnds: sent.leaseEnds, knowing: sent.sealing, fault) else {
            return false
        }
        guard let record = etcd.record, record != before else { return true }
        switch sent.errand {
        case .write where sent.isUnpublished && record.isLive && written.insert(record.lineage).inserted:
            // Later logins and logouts were lost with the restored snapshot, and are about to be written again.
            guard record.lineage.number >= current.number else { break }
            current = record.lineage
            (isOut, isDue) = (false, false)
        case .write where sent.isUnpublished && before?.lineage == record.lineage && record.status != .out:
            isDue = false
        case .write where sent.isUnpublished && !record.isLive: isOut = isOut || record.lineage == current
        case .adopt:
            isDue = false
            if before?.status == .dead(.sessionTooOld) { violation = "I4 an old login is revived" }
            let isDoubtful = intent?.before.contains(record.attempt) ?? false
            server.tokens[record.token].isDoubtful = isDoubtful
        case .commit, .declare: isDue = false
        case .reserve, .release, .doubt, .unlock, .place, .write, .mark, .reseal, .erase: break
        }
        return true
    }

    // MARK: Users

    private mutating func person(_ move: FleetMove) {
        let instant = instant
        switch move {
        case .login(let index):
            budget.login -= 1
            if !isOneSecond { now += 1 }
            let token = server.login()
            let attempt = nextAttempt(of: index)
            let (id, time) = (UInt128(attempts), FleetTime(seconds: now))
            tell(index) { $0.loggedIn(id, as: attempt, tokenMark: token.mark, time: time, at: instant) }
        case .logout(let index):
            budget.logout -= 1
            tell(index) { $0.loggedOut(at: instant) }
        case .rekey(let index):
            budget.rekey -= 1
            tell(index) { $0.resealWanted(at: instant) }
        default: break
        }
    }
}
