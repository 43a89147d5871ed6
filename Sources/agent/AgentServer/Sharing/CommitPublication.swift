// SPDX-License-Identifier: MIT

import TokenCore

/// A write of a session to the disk that its fleet may have to know of.
struct CommitPublication {
    /// The number of the commit, or `nil` if nothing waits for it.
    let number: CommitNumber?
    let snapshot: SessionSnapshot
    let shared: SharedSession

    /// Passes the change to the fleet if the fleet has to know of it.
    ///
    /// - Returns: `true` if the fleet has taken it. The session is then told when it is durable.
    func isTaken() -> Bool {
        guard let session = shared.session else { return false }
        if isAnswerTaken() { return true }
        if number.map(session.isLogin) == true {
            logIn(time: shared.sharing.time)
            return true
        }
        switch snapshot.standing {
        case .ended(.loggedOut, _): return isLogoutTaken()
        // An end that this host has found by itself applies to this host only.
        case .ended, .loggedIn: return false
        }
    }

    /// Publishes a login made on this host: a new one, or one from before the session was shared.
    func logIn(time: FleetTime?) {
        let id = shared.freshAttempt
        let login = LocalSharedRecord.UnsavedChange(attempt: id, commit: number, snapshot: snapshot)
        shared.finish(shared.record.await(news: login), nil)
        let mark = shared.record.mark(of: snapshot)
        shared.apply { member, now in
            member.loggedIn(.random(in: 1 ... .max), as: id, tokenMark: mark, time: time, at: now)
        }
    }

    /// Publishes the tokens of a response that this host has received as the fleet's record.
    ///
    /// - Returns: `true` if the snapshot has such tokens.
    private func isAnswerTaken() -> Bool {
        guard let attempt = shared.attempt, attempt.hasTokens, shared.record.answer == nil else {
            return false
        }
        shared.record.await(answer: .init(attempt: attempt.id, commit: number, snapshot: snapshot))
        let mark = shared.record.mark(of: snapshot)
        let jitter = shared.chance()
        shared.apply { member, now in
            member.answered(.tokens(tokenMark: mark), jitter: jitter, at: now)
        }
        return true
    }

    /// Publishes a logout if the fleet has a login that it ends.
    ///
    /// - Returns: `true` if the fleet has such a login.
    private func isLogoutTaken() -> Bool {
        guard let known = shared.member.memory.record, known.status != .out else { return false }
        let logout = LocalSharedRecord.UnsavedChange(ended: known.lineage, commit: number, snapshot: snapshot)
        let former = shared.record.await(news: logout)
        // Requests that wait for an earlier logout are answered when this one ends.
        if former?.ended == nil { shared.finish(former, nil) }
        shared.apply { member, now in member.loggedOut(at: now) }
        return true
    }
}
