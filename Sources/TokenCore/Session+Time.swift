// SPDX-License-Identifier: MIT

extension Session {
    /// When the session next needs ``timeReached(_:jitter:)``; `nil`: only an event can change anything.
    package var wakeTime: Instant? {
        [waiters.earliestDeadline, storage.retryAt, stateWakeTime].compactMap(\.self).min()
    }

    private var stateWakeTime: Instant? {
        guard !isAdopting else { return nil }
        switch state {
        case .loggedOut(let ended): return ended.afterlife.wakeTime
        case .probing, .reauthenticating, .refreshing: return nil
        case .ready(let login): return earliest(dueTime(of: login), login)
        case .retrying(let login, let setback): return earliest(setback.nextTry, login)
        case .suspended(let login, let suspension): return earliest(suspension.retryAt, login)
        }
    }

    /// The next planned try, or the login's own end or warning if that comes first.
    private func earliest(_ planned: Instant?, _ login: Login) -> Instant? {
        [planned, endTime(of: login)?.at, warningTime(of: login)].compactMap(\.self).min()
    }

    /// A moment at or after ``wakeTime`` has come.
    package mutating func timeReached(_ moment: Moment, jitter: Double) -> [Effect] {
        var effects = settleOverdue(at: moment.now)
        effects += recommitIfDue(at: moment)
        guard !isAdopting else { return effects }
        if let login, let ending = endTime(of: login), ending.at <= moment.now, currentAttempt == nil {
            return effects + end(ending.reason, ending.message, login, probeAt: nil, at: moment)
        }
        effects += warnIfDue(at: moment)
        switch state {
        case .loggedOut(let ended): effects += afterlife(of: ended, at: moment)
        case .ready(let login):
            if let due = dueTime(of: login), due <= moment.now {
                effects += start(.primary, login, setback: nil, reason: reason(dueAt: due), at: moment)
            }
        case .retrying(let login, let setback) where setback.nextTry <= moment.now:
            let variant = nextWanted(at: moment.now) ?? .primary
            effects += start(variant, login, setback: setback, reason: setback.reason, at: moment)
        case .suspended(let login, let suspension) where suspension.retryAt <= moment.now:
            effects += start(.primary, login, setback: nil, reason: .due, at: moment)
        case .retrying, .suspended, .refreshing, .probing, .reauthenticating: break
        }
        return effects
    }

    /// A new login is being made durable, so nothing of the old one is started or ended.
    private var isAdopting: Bool {
        if case .committing = progress { true } else { false }
    }

    /// What was due while no agent ran is made because of the start.
    private func reason(dueAt due: Instant) -> RefreshReason {
        restoredAt.map { due <= $0 } == true ? .start : .due
    }

    func dueTime(of login: Login) -> Instant? {
        guard login.renewal != .impossible, let primary = login.primary else { return nil }
        return RefreshSchedule.dueTime(for: primary, policy: policy)
    }

    /// When and why this login ends without any server saying so.
    private func endTime(of login: Login) -> (at: Instant, reason: EndReason, message: String)? {
        var endings: [(at: Instant, reason: EndReason, message: String)] = []
        if let age = policy.maximumSessionAge {
            endings.append(
                (login.loggedInAt + age, .sessionTooOld, "the session has reached its maximum age")
            )
        }
        switch login.renewal {
        case .refreshToken:
            if let expiresAt = login.refreshExpiresAt {
                endings.append((expiresAt, .refreshTokenExpired, "the refresh token has expired"))
            }
        case .impossible:
            if let expiresAt = login.tokenExpiresAt {
                endings.append((expiresAt, .noRefreshToken, "the issuer gave no refresh token"))
            }
        case .clientCredentials: break
        }
        return endings.min { $0.at < $1.at }
    }

    private func warningTime(of login: Login) -> Instant? {
        guard let warnBefore = policy.warnBefore, let ending = endTime(of: login), warnedFor != ending.at
        else {
            return nil
        }
        return ending.at - warnBefore
    }

    private mutating func warnIfDue(at moment: Moment) -> [Effect] {
        guard let login, let warning = warningTime(of: login), warning <= moment.now,
            let ending = endTime(of: login)
        else { return [] }
        warnedFor = ending.at
        let event = SessionEvent(
            .expiring,
            reason: ending.reason.rawValue,
            message: nil,
            expiresAt: ending.at
        )
        return [.notify(event)]
    }

    private mutating func recommitIfDue(at moment: Moment) -> [Effect] {
        guard let retryAt = storage.retryAt, retryAt <= moment.now else { return [] }
        storage.retryAt = nil
        guard let snapshot = snapshot(at: moment) else { return [] }
        return [.commit(nextCommit(), snapshot)]
    }

    private mutating func afterlife(of ended: Ended, at moment: Moment) -> [Effect] {
        switch ended.afterlife {
        case .none: return []
        case .quarantined(let login, let erasedAt, _) where erasedAt <= moment.now:
            state = .loggedOut(Ended(reason: ended.reason, message: ended.message, afterlife: .none))
            return [.forget] + erase(login.secrets)
        case .quarantined(let login, _, let probeAt):
            guard let probeAt, probeAt <= moment.now else { return [] }
            return probe(ended, login, at: moment)
        case .revoking(let login, let request, let retryAt, let failures, let givenUpAt):
            guard let retryAt, retryAt <= moment.now else { return [] }
            var ended = ended
            ended.afterlife = .revoking(
                login,
                request,
                retryAt: nil,
                failures: failures,
                givenUpAt: givenUpAt
            )
            state = .loggedOut(ended)
            return [.revoke(request)]
        }
    }
}

extension Ended.Afterlife {
    fileprivate var wakeTime: Instant? {
        switch self {
        case .none: nil
        case .quarantined(_, let erasedAt, let probeAt): min(erasedAt, probeAt ?? erasedAt)
        case .revoking(_, _, let retryAt, _, _): retryAt
        }
    }
}
