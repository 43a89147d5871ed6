// SPDX-License-Identifier: MIT

@testable import TokenCore

/// The token endpoint, and requests whose host has stopped.
extension FleetWorld {
    mutating func send(_ index: Int) {
        guard case .grant(let attempt, let header, let until) = take(index),
            let intent = hosts[index].member?.hold?.intent
        else { return }
        // The intent is on the disk before the request is sent.
        hosts[index].disk.sending = hosts[index].member?.memory.sending
        let timing = habit.timing
        let spare = (timing.request + timing.margin).wholeSeconds
        let alarm: Int64 =
            fault == .alarmIgnored
            ? .max : fault == .graceUnwatched ? hosts[index].leaseEnds - spare : until.seconds
        let instant = instant
        guard now < alarm else {
            return tell(index) { $0.answered(.untouched, jitter: 0, at: instant) }
        }
        let token = header.token
        let others = server.tokens[token].senders.filter { $0 != attempt && !intent.before.contains($0) }
        if !others.isEmpty, habit != .keeps, !intent.before.contains(.lost) {
            violation = "I1 a second send that was not declared"
        }
        // A restored snapshot may change what is due while a host is already permitted to send.
        if header == etcd.record, !isDue, header.status != .rescued, !wasRestored {
            violation = "I7 a token is refreshed that nobody wants to be"
        }
        server.tokens[token].senders.append(attempt)
        let isInGrace =
            habit.hasGrace && !intent.before.isEmpty
            && intent.at.seconds - intent.first.seconds + spare < Habit.grace
        guard let fence = hosts[index].member?.fence else { return }
        var request = Request(
            token: token,
            attempt: attempt,
            sentAt: now,
            isExcused: server.tokens[token].isDoubtful
                || !intent.before.isEmpty && !isInGrace && !hosts[index].isOverLate
        )
        request.readDeadline = (fault == .answersCut ? fence.arriveBefore : fence.endBefore).seconds
        hosts[index].request = request
    }

    mutating func exchange(_ move: FleetMove) {
        switch move {
        case .serve(let index):
            guard let request = hosts[index].request else { return }
            let token = server.answer(request.token, at: now)
            end(index, token.map { .tokens(tokenMark: $0.mark) } ?? refusal)
        case .lose(let index, let acted):
            budget.lost -= 1
            if acted, let request = hosts[index].request { _ = server.answer(request.token, at: now) }
            end(index, .unanswered)
        case .slow(let index):
            budget.tardy -= 1
            guard let request = hosts[index].request else { return }
            let token = server.answer(request.token, at: now)
            let answer = token.map { FleetRefreshOutcome.tokens(tokenMark: $0.mark) } ?? refusal
            hosts[index].request?.answer = answer
        case .deliver(let index):
            guard let answer = hosts[index].request?.answer else { return }
            end(index, answer)
        case .cut(let index): end(index, .unanswered)
        case .gateway(let index):
            budget.gateway -= 1
            guard let request = hosts[index].request else { return }
            _ = server.answer(request.token, at: now)
            end(index, fault == .gatewayBelieved ? .untouched : .unanswered)
        case .busy(let index):
            budget.busy -= 1
            guard let request = hosts[index].request else { return }
            server.tokens[request.token].senders.removeAll { $0 == request.attempt }
            end(index, .untouched)
        case .lag(let index):
            budget.lag -= 1
            end(index, refusal)
        case .orphan(let index, let acts):
            let request = orphans.remove(at: index)
            guard acts else { return }
            let token = server.answer(request.token, at: now)
            guard let keeper = request.keeper else { return }
            hosts[keeper].recording = token.map { .tokens(tokenMark: $0.mark) } ?? refusal
        default: break
        }
    }

    private var refusal: FleetRefreshOutcome {
        .refused(.grantDead, confirmations: fault == .refusalBelieved ? 0 : confirmations)
    }

    mutating func end(_ index: Int, _ answer: FleetRefreshOutcome) {
        hosts[index].request = nil
        if case .refused = answer {
            // The intent is withdrawn, and the recorded response with it.
            hosts[index].disk.sending = nil
            forgetRecording(index)
        }
        let instant = instant
        tell(index) { $0.answered(answer, jitter: 0, at: instant) }
    }

    // MARK: Starts and stops

    mutating func startOrStop(_ move: FleetMove) {
        let instant = instant
        switch move {
        case .crash(let index, let isWritten):
            budget.crash -= 1
            if case .keep(let memory) = hosts[index].pending, isWritten { hosts[index].disk = memory }
            stop(index)
        case .kill(let index):
            budget.kill -= 1
            if case .keep(let memory) = hosts[index].pending, let answer = memory.answer,
                answer != hosts[index].disk.answer
            {
                hosts[index].recording = .tokens(tokenMark: answer.tokenMark)
            }
            stop(index, recording: true)
        case .restart(let index):
            let disk = hosts[index].disk
            hosts[index].member = FleetMember(disk, timing: habit.timing)
            let answer = disk.answer.flatMap { $0.placedIn == nil && !disk.isUnpublished ? $0.attempt : nil }
            hosts[index].tokens = answer ?? disk.record?.attempt
            tell(index) { $0.started(at: instant) }
        case .destroy(let index):
            budget.gone -= 1
            stop(index)
            hosts[index].isGone = true
            hosts[index].disk = FleetPersistentState()
            hosts[index].recording = nil
        default: break
        }
    }

    /// Stops a host.
    ///
    /// If `recording` is `true`, the guard of its request keeps running.
    private mutating func stop(_ index: Int, recording: Bool = false) {
        if !recording {
            for other in orphans.indices where orphans[other].keeper == index { orphans[other].keeper = nil }
        }
        if var request = hosts[index].request {
            request.keeper = recording ? index : nil
            if let answer = request.answer {
                if recording { hosts[index].recording = answer }
            } else {
                orphans.append(request)
            }
        }
        hosts[index].request = nil
        hosts[index].pending = nil
        hosts[index].isPaused = false
        hosts[index].isAsking = false
        hosts[index].heard = nil
        hosts[index].postponed = 0
        hosts[index].member = nil
    }
}
