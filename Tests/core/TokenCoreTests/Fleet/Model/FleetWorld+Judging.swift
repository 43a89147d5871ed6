// SPDX-License-Identifier: MIT

@testable import TokenCore

/// Invariants that must always hold, and conditions that must hold in the end.
extension FleetWorld {
    /// Whether a valid refresh token of the current login is in etcd, at a host or in a response in flight.
    var holdsGoodToken: Bool {
        var tokens: [Int] = []
        func add(_ header: FleetHeader?) {
            if let header, header.lineage == current, header.status != .out { tokens.append(header.token) }
        }
        func add(_ memory: FleetPersistentState) {
            add(memory.record)
            if let answer = memory.answer, answer.lineage == current {
                tokens.append(Int(answer.tokenMark) - 1)
            }
        }
        add(etcd.record)
        tokens += etcd.lateResults.filter { $0.lineage == current }.map { Int($0.tokenMark) - 1 }
        for host in hosts where !host.isGone {
            add(host.disk)
            if case .keep(let memory) = host.pending { add(memory) }
            if case .tokens(let mark)? = host.request?.answer { tokens.append(Int(mark) - 1) }
            if case .tokens(let mark) = host.recording, host.disk.sending?.parent.lineage == current {
                tokens.append(Int(mark) - 1)
            }
        }
        return tokens.contains { server.isGood($0) }
    }

    /// Returns the invariant that `move` broke, or `nil` if it broke none.
    func wrong(since old: FleetWorld, by move: FleetMove) -> String? {
        wrongRecord(since: old, by: move) ?? loss(since: old, by: move)
    }

    private func wrongRecord(since old: FleetWorld, by move: FleetMove) -> String? {
        guard move != .restore, let before = old.etcd.record else { return nil }
        guard let record = etcd.record else { return "the record is gone" }
        if record.lineage == before.lineage, record.generation < before.generation {
            return "I2 the generation decreases"
        }
        if old.isOut, old.current == current, before.lineage == current, before.status == .out,
            record.lineage != current || record.status != .out
        {
            return "I4 a logout is undone"
        }
        if before.lineage == old.current, record.lineage != current { return "I4 a login is undone" }
        return nil
    }

    private func loss(since old: FleetWorld, by move: FleetMove) -> String? {
        guard !isOut, current == old.current, old.holdsGoodToken, !holdsGoodToken else {
            return nil
        }
        // The user has already replaced or ended the login, although etcd does not know it yet.
        guard !hosts.contains(where: \.disk.isUnpublished) else { return nil }
        switch move {
        case .lose, .crash, .destroy, .gateway, .restore, .ended: return nil
        case .orphan(let index, _): return old.orphans[index].isExcused ? nil : ended(since: old)
        case .cut(let index):
            return old.mayStopReading(index) ? nil : "I3 an answer that is on its way is not read"
        case .serve(let index), .slow(let index):
            guard old.hosts[index].request?.isExcused == false else { return nil }
            return ended(since: old) ?? "I3 an answer is lost"
        case .due, .useless, .deliver, .timePasses, .leaseEnds, .snapshot, .look, .wake, .hear, .show, .want,
            .transact,
            .keep, .send,
            .busy, .lag, .rekey, .kill, .recover,
            .restart, .login, .logout, .delayed:
            return "I3 the protocol drops the last good refresh token"
        }
    }

    /// Returns `true` if the host may stop reading: in the grace period, or after the other hosts' takeover timeout.
    ///
    /// The host's own intent counts, because after the timeout another intent may have replaced it in etcd.
    private func mayStopReading(_ index: Int) -> Bool {
        guard !isReadToTheEnd(index), let intent = hosts[index].member?.hold?.intent else { return true }
        let left = habit.timing.graceLeft(since: intent.first, at: FleetTime(seconds: now))
        return left.map { $0 > .zero } ?? false
    }

    /// Returns `true` if the host reads the response until the other hosts' takeover timeout passes.
    func isReadToTheEnd(_ index: Int) -> Bool {
        guard let request = hosts[index].request, let intent = hosts[index].member?.hold?.intent else {
            return false
        }
        let timing = habit.timing
        return request.readDeadline >= (intent.at + (timing.takeoverTimeout - timing.margin)).seconds
    }

    private func ended(since old: FleetWorld) -> String? {
        server.ended != old.server.ended ? "I3 the server ends the login" : nil
    }

    /// The reason this world is not at rest in a correct state, or `nil` if it is.
    var unrest: String? {
        for host in hosts where !host.isGone {
            guard let member = host.member, host.isIdle, member.hold == nil, member.pendingRefresh == nil,
                member.outsealed == nil,
                !host.isAsking, member.news == nil, host.disk.answer.map({ $0.placedIn != nil }) ?? true
            else { return "a host never comes to rest" }
            if host.disk.record != etcd.record { return "I6 a host never has etcd's record" }
            if let record = host.disk.record, record.status != .out, host.tokens != record.attempt {
                return "I6 a session never has its record's tokens"
            }
        }
        guard let record = etcd.record else { return "the record is gone for ever" }
        if etcd.lock != nil || isDue && record.isLive || record.status == .rescued {
            return "a refresh never ends"
        }
        if record.lineage != current { return "I4 a login is lost for ever" }
        if isOut != (record.status == .out) { return "I4 a logout is lost for ever" }
        if isOut || record.isLive && server.isGood(record.token) { return nil }
        if holdsGoodToken { return "I3 a good refresh token is kept and never used" }
        if isPrompt { return "the login is lost although a grace was open" }
        return record.isLive ? "a useless record is never replaced" : nil
    }
}
