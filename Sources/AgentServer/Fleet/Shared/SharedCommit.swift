// SPDX-License-Identifier: MIT

import TokenCore

/// What a session wants to have made durable, where its fleet has to know of it.
struct SharedCommit {
    /// `nil`: nobody waits for it.
    let number: CommitNumber?
    let snapshot: SessionSnapshot
    let shared: SharedSession

    /// Hands it to the fleet, unless that is not concerned.
    ///
    /// - Returns: whether it is; the session is told when it is durable then.
    func isTaken(in agent: isolated SessionAgent) -> Bool {
        guard let session = agent.sessions[shared.name]?.session else { return false }
        if isAnswerTaken(in: agent) { return true }
        if number.map(session.isLogin) == true {
            logIn(time: shared.sharing.time, in: agent)
            return true
        }
        switch snapshot.standing {
        case .ended(.loggedOut, _): return isLogoutTaken(in: agent)
        // What this host has found by itself is true for it alone.
        case .ended, .loggedIn: return false
        }
    }

    /// A login of this host: of a person now, or one that it had before it joined the fleet.
    func logIn(time: FleetTime?, in agent: isolated SessionAgent) {
        let id = shared.freshAttempt
        let login = SharedRecord.Pending(attempt: id, commit: number, snapshot: snapshot)
        shared.finish(shared.record.await(news: login), nil, in: agent)
        let mark = shared.record.mark(of: snapshot)
        shared.apply(in: agent) { member, now in
            member.loggedIn(.random(in: 1 ... .max), as: id, tokenMark: mark, time: time, at: now)
        }
    }

    /// The tokens of this host's own answer are to become the record.
    private func isAnswerTaken(in agent: isolated SessionAgent) -> Bool {
        guard let attempt = shared.attempt, attempt.hasTokens, shared.record.answer == nil else {
            return false
        }
        shared.record.await(answer: .init(attempt: attempt.id, commit: number, snapshot: snapshot))
        let mark = shared.record.mark(of: snapshot)
        let jitter = agent.ports.chance()
        shared.apply(in: agent) { member, now in
            member.answered(.tokens(tokenMark: mark), jitter: jitter, at: now)
        }
        return true
    }

    /// The fleet has something to end.
    private func isLogoutTaken(in agent: isolated SessionAgent) -> Bool {
        guard let known = shared.member.memory.record, known.status != .out else { return false }
        let logout = SharedRecord.Pending(ended: known.lineage, commit: number, snapshot: snapshot)
        let former = shared.record.await(news: logout)
        // Whoever waits for an earlier logout hears of the end of this one.
        if former?.ended == nil { shared.finish(former, nil, in: agent) }
        shared.apply(in: agent) { member, now in member.loggedOut(at: now) }
        return true
    }
}
