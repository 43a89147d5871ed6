// SPDX-License-Identifier: MIT

@testable import TokenCore

/// An event that can happen next in a ``FleetWorld``.
enum FleetMove: Hashable {
    enum Fate: Hashable {
        case answered
        case carriedOutUnanswered
        case lost
        /// The transaction is carried out later, or never.
        case delayed
    }

    case due
    case useless
    case timePasses
    case leaseEnds
    case snapshot
    case restore
    case look(Int)
    /// The watch of a host has an event, but delivers it late.
    case hear(Int)
    /// The watch delivers its late event.
    case show(Int)
    /// The host's wake time is reached.
    case wake(Int)
    case want(Int)
    case transact(Int, Fate)
    case keep(Int)
    case send(Int)
    case serve(Int)
    case lose(Int, acted: Bool)
    /// The server acts, and its response is delayed.
    case slow(Int)
    /// The delayed response arrives.
    case deliver(Int)
    /// The connection is reset before the delayed response arrives.
    case cut(Int)
    case gateway(Int)
    case busy(Int)
    case lag(Int)
    case ended
    case rekey(Int)
    case orphan(Int, acts: Bool)
    case delayed(Int, arrives: Bool)
    case crash(Int, isWritten: Bool)
    case kill(Int)
    /// The host reads the response that was recorded before it started.
    case recover(Int)
    case restart(Int)
    case destroy(Int)
    case login(Int)
    case logout(Int)

    /// Returns `true` for a fault or a user's action, on which a way to rest must not depend.
    func isFault(in world: FleetWorld) -> Bool {
        switch self {
        case .due, .snapshot, .restore, .lose, .slow, .gateway, .busy, .lag, .ended, .rekey, .crash,
            .kill, .destroy, .login,
            .logout:
            true
        case .transact(_, let fate): fate != .answered
        case .timePasses: world.pausesSomebody
        case .useless, .leaseEnds, .look, .wake, .hear, .show, .want, .keep, .send, .serve, .deliver,
            .cut, .orphan, .delayed, .restart, .recover:
            false
        }
    }
}

extension FleetWorld {
    /// Returns all moves that can happen next.
    func moves() -> [FleetMove] {
        var moves: [FleetMove] = []
        if let record = etcd.record, record.isLive, !isDue {
            if budget.due > 0 { moves.append(.due) }
            // A useless token becomes due at any time.
            if !server.isGood(record.token), record.lineage == current { moves.append(.useless) }
        }
        if budget.ended > 0, !server.ended.contains(server.families) { moves.append(.ended) }
        if nextInstant != nil, !pausesSomebody || budget.slow > 0 { moves.append(.timePasses) }
        if let lock = etcd.lock, lock.endsAt <= now { moves.append(.leaseEnds) }
        if budget.restore > 0 {
            if snapshot == nil { moves.append(.snapshot) }
            if let snapshot, snapshot.place.revision != etcd.place.revision { moves.append(.restore) }
        }
        for index in orphans.indices {
            moves.append(.orphan(index, acts: true))
            moves.append(.orphan(index, acts: false))
        }
        for index in delayed.indices {
            moves += [.delayed(index, arrives: true), .delayed(index, arrives: false)]
        }
        for index in hosts.indices { moves += hostMoves(index) }
        return moves
    }

    private func hostMoves(_ index: Int) -> [FleetMove] {
        let host = hosts[index]
        guard !host.isGone else { return [] }
        guard let member = host.member else { return [.restart(index)] }
        var moves = nextSteps(of: index)
        if host.isIdle { moves.append(.look(index)) }
        if host.isIdle, let turn = member.pendingRefresh?.turn, turn <= instant { moves.append(.wake(index)) }
        if budget.late > 0, host.heard == nil { moves.append(.hear(index)) }
        if host.heard != nil { moves.append(.show(index)) }
        if mayWant(host) { moves.append(.want(index)) }
        if budget.crash > 0 {
            moves.append(.crash(index, isWritten: false))
            if case .keep = host.pending { moves.append(.crash(index, isWritten: true)) }
        }
        if budget.kill > 0 { moves.append(.kill(index)) }
        let others = hosts.indices.contains { $0 != index && !hosts[$0].isGone }
        if budget.gone > 0, others { moves.append(.destroy(index)) }
        if budget.login > 0, member.news == nil { moves.append(.login(index)) }
        if mayEnd(host) {
        }
        if budget.rekey > 0 { moves.append(.rekey(index)) }
        if budget.logout > 0, member.news == nil, let record = host.disk.record, record.status != .out,
            record.lineage == current
        {
            moves.append(.logout(index))
        }
        return moves
    }

    /// Returns `true` if the session may request a refresh, independent of the host's other work.
    private func mayWant(_ host: Host) -> Bool {
        // The host has found its refresh interrupted.
        if host.member?.step == .interrupted { return !host.isAsking }
        guard let member = host.member, !host.isAsking, member.hold == nil, host.postponed <= now,
            let record = member.memory.record, record.isLive
        else { return false }
        // The host has new tokens, or will have them when they are on its disk.
        if case .keep(let memory) = host.pending, memory.answer != member.memory.answer { return false }
        if let answer = member.memory.answer, answer.placedIn == nil { return false }
        return isDue || record.status == .rescued
    }

    /// Returns `true` if the session is logged in and knows when its login and its refresh token expire.
    private func mayEnd(_ host: Host) -> Bool {
        guard let member = host.member, member.news == nil, !member.memory.isUnpublished,
            let record = member.memory.record
        else { return false }
        return record.isLive && record.lineage == current && host.tokens == record.attempt
    }

    /// Returns the moves that the host itself makes next.
    private func nextSteps(of index: Int) -> [FleetMove] {
        if let request = hosts[index].request {
            guard request.answer == nil else {
                // A response that never arrives is lost. In a prompt world it arrives before the takeover timeout.
                let isCut = request.readDeadline <= now && !(isPrompt && isReadToTheEnd(index))
                return [.deliver(index)] + (isCut ? [.cut(index)] : [])
            }
            var moves = [FleetMove.serve(index)]
            if budget.tardy > 0 { moves.append(.slow(index)) }
            if budget.lost > 0 { moves += [.lose(index, acted: false), .lose(index, acted: true)] }
            if budget.gateway > 0 { moves.append(.gateway(index)) }
            if budget.busy > 0 { moves.append(.busy(index)) }
            if budget.lag > 0 { moves.append(.lag(index)) }
            return moves
        }
        switch hosts[index].pending {
        case .transact:
            let lost: [FleetMove.Fate] =
                budget.unanswered > 0 ? [.carriedOutUnanswered, .lost, .delayed] : []
            return ([.answered] + lost).map { .transact(index, $0) }
        case .keep: return [.keep(index)]
        case .grant: return [.send(index)]
        // The host waits while the response is being recorded.
        case .recover: return orphans.contains { $0.keeper == index } ? [] : [.recover(index)]
        case nil, .look, .grantLease, .hold, .postpone, .refuse, .adopt, .ask, .asked, .revoke,
            .finishNews:
            return []
        }
    }

    // MARK: Time

    /// Whether the passing of time now would pause a host that has not been paused yet.
    var pausesSomebody: Bool { hosts.contains { isBusy($0) && !$0.isPaused } }

    /// Returns `true` if the host has a pending action, or must correct the record in etcd.
    func isBusy(_ host: Host) -> Bool {
        guard host.member != nil else { return false }
        return host.pending != nil || RecordOrdering(of: etcd.record, to: host.disk.record) == .older
    }

    /// The next instant at which anything changes, or `nil` if there is none or if a request must be answered before.
    var nextInstant: Int64? {
        let timing = habit.timing
        var instants = hosts.flatMap { host -> [Int64] in
            guard let member = host.member else { return [] }
            let turn = member.pendingRefresh?.turn.map { ($0 + .nanoseconds(999_999_999)).seconds }
            return [host.postponed, member.hold.map { $0.deadline.seconds } ?? 0, turn ?? 0]
        }
        if let lock = etcd.lock { instants.append(lock.endsAt) }
        instants += hosts.compactMap { $0.request?.answer == nil ? nil : $0.request?.readDeadline }
        if let record = etcd.record, let intent = etcd.intent, intent.concerns(record) {
            instants.append(intent.at.seconds + timing.takeoverTimeout.wholeSeconds)
            if intent.isRefused { instants.append(intent.at.seconds + 30) }
            if habit.hasGrace {
                let used = server.tokens[record.token]
                if used.isUsed { instants.append(used.usedAt + Habit.grace) }
                let reserve = (timing.request + timing.margin).wholeSeconds
                let last = intent.first.seconds + Habit.grace - reserve
                instants += [last - 2, last - 1]
            }
        }
        if habit.hasGrace {
            let reserve = (timing.request + timing.margin).wholeSeconds
            // The last seconds before a deadline.
            for host in hosts where host.member?.hold != nil { instants.append(host.leaseEnds - reserve - 1) }
        }
        guard !isPrompt || !isAnybodyNeeded else { return nil }
        guard let next = instants.filter({ $0 > now }).min() else { return nil }
        let limit = timing.request.wholeSeconds
        let isAwaited = (orphans + hosts.compactMap(\.request)).contains { request in
            request.answer == nil ? request.sentAt + limit <= next : request.readDeadline <= now
        }
        return isAwaited ? nil : next
    }
}

extension FleetWorld {
    /// Whether a host has anything to do now.
    private var isAnybodyNeeded: Bool {
        if let lock = etcd.lock, lock.endsAt <= now { return true }
        let key = FleetKey(self)
        return hosts.indices.contains { index in
            hostMoves(index).contains { move in
                guard !move.isFault(in: self) else { return false }
                // No host can hasten a delayed response.
                if case .deliver = move { return false }
                return FleetKey(after(move)) != key
            }
        }
    }
}

extension Instant {
    var seconds: Int64 { nanoseconds / 1_000_000_000 }
}
