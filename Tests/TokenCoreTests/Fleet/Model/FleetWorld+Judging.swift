// SPDX-License-Identifier: MIT

@testable import TokenCore

/// What must never happen, and what must come about in the end.
extension FleetWorld {
    /// A refresh token of the present login that would still bring others lies somewhere.
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
        tokens += etcd.lates.filter { $0.lineage == current }.map { Int($0.tokenMark) - 1 }
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

    /// What `move` did wrong.
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
        // A person has given the login up already, although etcd does not know it yet.
        guard !hosts.contains(where: \.disk.isNews) else { return nil }
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

    /// The refresh token that was sent can be sent again inside the grace, or the others have lost their patience.
    ///
    /// The host's own intent counts: where the patience is over, another one may have taken its place.
    private func mayStopReading(_ index: Int) -> Bool {
        guard !isReadToTheEnd(index), let intent = hosts[index].member?.hold?.intent else { return true }
        let left = habit.timing.graceLeft(since: intent.first, at: FleetTime(seconds: now))
        return left.map { $0 > .zero } ?? false
    }

    /// The response to the host's request is read until the others have lost their patience.
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

    /// Why this is not how it should come to rest; `nil`: it is.
    var unrest: String? {
        for host in hosts where !host.isGone {
            guard let member = host.member, host.isIdle, member.hold == nil, member.wish == nil,
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
