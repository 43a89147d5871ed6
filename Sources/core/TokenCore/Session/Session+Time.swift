// SPDX-License-Identifier: MIT

extension Session {
    /// The next time for ``timeReached(_:jitter:)``, or `nil` if only an event can change anything.
    package var wakeTime: Instant? {
        [waiters.earliestDecision, recommitTime, stateWakeTime].compactMap(\.self).min()
    }

    private var stateWakeTime: Instant? {
        guard !isAdopting else { return nil }
        switch state {
        case .loggedOut(let ended):
            let times = [ended.erasure, ended.afterlife.nextTry, ended.noninteractiveRetry?.at]
            return startTime ?? times.compactMap(\.self).min()
        case .probing, .reauthenticating, .refreshing: return nil
        case .ready(let login): return earliest(nextStart(of: login)?.at, login)
        case .retrying(let login, let setback): return earliest(setback.nextTry, login)
        case .suspended(let login, let suspension): return earliest(suspension.retryAt, login)
        }
    }

    /// Returns the time of the next attempt, or of the login's own end or warning if that comes first.
    private func earliest(_ planned: Instant?, _ login: Login) -> Instant? {
        [planned, endTime(of: login)?.at, notice(of: login)?.at].compactMap(\.self).min()
    }

    /// Executes everything that is due at ``wakeTime`` or later.
    package mutating func timeReached(_ moment: Moment, jitter: Double) -> [Effect] {
        var effects = decideOverdueRequests(at: moment.now)
        effects += recommitIfDue(at: moment)
        guard !isAdopting else { return effects }
        if let login, let ending = endTime(of: login), ending.at <= moment.now, currentAttempt == nil {
            return effects + end(ending.reason, ending.message, login, probeAt: nil, at: moment)
        }
        effects += noticeIfDue(at: moment)
        switch state {
        case .loggedOut where startTime != nil: effects += startAnew(reason: .start, at: moment)
        case .loggedOut(let ended): effects += afterlife(of: ended, at: moment)
        case .ready(let login):
            if let next = nextStart(of: login), next.at <= moment.now {
                effects += start(
                    next.variant,
                    login,
                    setback: nil,
                    reason: reason(for: next, login),
                    at: moment
                )
            }
        case .retrying(let login, let setback) where setback.nextTry <= moment.now:
            effects += retry(login, setback, at: moment)
        case .suspended(let login, let suspension):
            guard let retryAt = suspension.retryAt, retryAt <= moment.now else { break }
            effects += start(.primary, login, setback: nil, reason: .due, at: moment)
        case .retrying, .refreshing, .probing, .reauthenticating: break
        }
        return effects
    }

    /// Makes the attempt that was planned after `setback`.
    private mutating func retry(_ login: Login, _ setback: RetryState, at moment: Moment) -> [Effect] {
        let wanted = nextWanted(at: moment.now)
        // If only a role was unavailable and no request needs it any more, nothing has to be renewed.
        if wanted == nil, policy.roles == .variants, hasGoodOwnToken(at: moment.now),
            dueTime(of: login).map({ $0 > moment.now }) ?? true
        {
            become(.ready(login))
            return []
        }
        return start(wanted ?? .primary, login, setback: setback, reason: setback.reason, at: moment)
    }

    /// Whether a new login is being made durable.
    ///
    /// Nothing of the old one is started or ended meanwhile, and the next login waits.
    package var isAdopting: Bool {
        if case .committing = progress { true } else { false }
    }

    /// Returns whether the tokens of this login are being made durable.
    package func isStoring(_ number: LoginNumber) -> Bool {
        if case .committing(number, _, _) = progress { true } else { false }
    }

    /// Returns the reason for refreshing `next`.
    ///
    /// It is `start` if that was due while no agent was running.
    private func reason(for next: (variant: TokenVariant, at: Instant), _ login: Login) -> RefreshReason {
        guard login.tokens[next.variant]?.isRefused != true else { return .refusedToken }
        return restoredAt.map { next.at <= $0 } == true ? .start : .due
    }

    /// Returns the next refresh and its time: the login's own token once due, or a requested token that was
    /// rejected.
    private func nextStart(of login: Login) -> (variant: TokenVariant, at: Instant)? {
        guard login.renewal != .impossible else { return nil }
        let due = dueTime(of: login).map { (variant: TokenVariant.primary, at: $0) }
        let first = waiters.nextVariant(isForeign: false) ?? waiters.nextVariant(isForeign: true)
        let wanted = first.flatMap { variant in
            login.tokens[variant].flatMap { token in
                token.isRefused ? (variant: variant, at: token.replaceableAt) : nil
            }
        }
        return [due, wanted].compactMap(\.self).min { $0.at < $1.at }
    }

    /// Returns the time at which the login's own token is refreshed automatically: before its expiry, or the
    /// login's end.
    func dueTime(of login: Login) -> Instant? {
        guard login.renewal != .impossible else { return nil }
        guard let primary = login.primary else {
            return login.renewal == .withoutLogin || policy.isShared ? login.loggedInAt : nil
        }
        guard !primary.isRefused else { return primary.replaceableAt }
        guard primary.standing != .possiblyExpired else { return primary.obtainedAt }
        let beforeEnd = login.end.flatMap { end in
            RefreshSchedule.dueTime(before: end, renewing: primary, policy: policy)
        }
        return [RefreshSchedule.dueTime(for: primary, policy: policy), beforeEnd].compactMap(\.self).min()
    }

    /// Returns the end of this login without a server's response, with its reason.
    func endTime(of login: Login) -> PredictedLoginEnd? {
        endings(of: login).filter(\.isCertain).map { ending in
            var ending = ending
            ending.at = confirmedTime(of: ending.at, of: login)
            return ending
        }.min { $0.at < $1.at }
    }

    /// Returns the end of the login as far as known, for display.
    func shownEnd(of login: Login) -> Instant? { endings(of: login).map(\.at).min() }

    private func endings(of login: Login) -> [PredictedLoginEnd] {
        var endings: [PredictedLoginEnd] = []
        if let age = policy.maximumSessionAge, !policy.startsByItself {
            let message = "the session has reached its maximum age"
            endings.append(
                PredictedLoginEnd(at: login.loggedInAt + age, reason: .sessionTooOld, message: message)
            )
        }
        switch login.renewal {
        case .refreshToken:
            if let end = login.end {
                var ending = PredictedLoginEnd(
                    at: end.at,
                    reason: .refreshTokenExpired,
                    message: "the refresh token has expired"
                )
                // After a reboot only the server knows.
                ending.isCertain = end.source == .told && !login.isDatedByWallClock
                ending.moves = end.mobility == .moves
                ending.mayMove = end.mobility == .unknown && end.source == .told
                endings.append(ending)
            }
        case .impossible:
            if let expiresAt = login.tokenExpiresAt {
                endings.append(
                    PredictedLoginEnd(
                        at: expiresAt,
                        reason: .noRefreshToken,
                        message: Session.noRefreshTokenMessage
                    )
                )
            }
        case .withoutLogin, .byKeepers: break
        }
        return endings
    }

    /// Returns the end to warn the user about next, and the time, or `nil` once warned.
    private func notice(of login: Login) -> (ending: PredictedLoginEnd, at: Instant)? {
        approach(of: login).flatMap { login.hasNoticed($0.ending.at) ? nil : $0 }
    }

    /// Returns the time from which to warn the user about the login's end.
    func noticeTime(of login: Login) -> Instant? { approach(of: login)?.at }

    /// Returns the first end that no refresh extends, and the time from which it is near.
    private func approach(of login: Login) -> (ending: PredictedLoginEnd, at: Instant)? {
        guard let ending = endings(of: login).filter({ !$0.moves }).min(by: { $0.at < $1.at }) else {
            return nil
        }
        let time = policy.noticeTime(before: ending.at, since: login.loggedInAt)
        // If it is unknown whether a refresh extends the login, wait for the next one, which shows it.
        guard ending.mayMove, case .ready = state, let due = dueTime(of: login), due < ending.at else {
            return (ending, time)
        }
        return (ending, max(time, due + .seconds(1)))
    }

    private mutating func noticeIfDue(at moment: Moment) -> [Effect] {
        // During a refresh it is unknown whether the login is extended.
        guard let login, currentAttempt == nil, let (ending, at) = notice(of: login), at <= moment.now else {
            return []
        }
        changeLogins { $0.noticedEnd = ending.at }
        storage.owe(at: moment.now)
        let event = SessionEvent(
            .expiring,
            reason: ending.reason.rawValue,
            message: nil,
            expiresAt: ending.at
        )
        return [.notify(event)]
    }

    /// The time at which a record is written again.
    ///
    /// It is `nil` while a record is reserved for a response, which does not apply to a reader.
    private var recommitTime: Instant? {
        let isReserved = currentAttempt != nil && login?.renewal != .byKeepers
        return isReserved || isAdopting ? nil : storage.retryAt
    }

    private mutating func recommitIfDue(at moment: Moment) -> [Effect] {
        guard let retryAt = recommitTime, retryAt <= moment.now else { return [] }
        storage.beginWriting()
        guard let snapshot = snapshot(at: moment) else { return [] }
        return [.commit(nextCommit(), snapshot)]
    }

    private mutating func afterlife(of ended: EndedLogin, at moment: Moment) -> [Effect] {
        if let retry = ended.noninteractiveRetry, retry.at <= moment.now {
            return retryNoninteractiveLogin(ended)
        }
        switch ended.afterlife {
        case .none: return []
        case .quarantined(let login, _, _) where ended.erasure.map { $0 <= moment.now } == true:
            var ended = ended
            ended.afterlife = .none
            become(.loggedOut(ended))
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
            become(.loggedOut(ended))
            return [.revoke(request)]
        }
    }
}

/// Steps of the wall clock relative to the boot-time clock.
///
/// Either time has passed that the boot-time clock did not count, or one of the two wall-clock times is
/// wrong. It is impossible to tell which, so a step costs a refresh and never a login.
extension Session {
    /// Processes a step of the wall clock.
    ///
    /// After a step forward every token counts as possibly expired. After a step back, conclusions from the
    /// earlier wall-clock time at the start of the agent are corrected.
    ///
    /// - Parameters:
    ///   - step: the step, positive for forward (``ClockOffset/step(since:)``).
    ///   - statedEnds: the `exp` of each token that is a JWT.
    ///   - moment: the current time.
    package mutating func wallClockStepped(
        by step: Duration,
        statedEnds: [SecretID: WallTime],
        at moment: Moment
    ) {
        let (restoredAt, correction) = (restoredAt, stepsSinceStart.correction(after: step))
        changeLogins { login in
            if step > .zero { login.doubtAges() }
            if correction > .zero, login.isDatedByWallClock, let restoredAt {
                login.makeYounger(by: correction, restoredAt: restoredAt)
            }
            login.setStatedEnds(statedEnds, at: moment)
        }
        if case .loggedOut(var ended) = state, ended.datedAt != nil {
            ended.afterlife.moveErasure(by: step)
            ended.datedAt = moment.now
            become(.loggedOut(ended))
        }
    }

    /// Sets the stated ends of tokens that were restored as possibly expired.
    package mutating func restoredTokensState(_ ends: [SecretID: WallTime], at moment: Moment) {
        changeLogins { $0.setStatedEnds(ends, at: moment) }
    }

    /// Whether a token was written before a step of the wall clock.
    package var hasPossiblyExpiredTokens: Bool {
        heldTokens.values.contains { $0.standing == .possiblyExpired }
    }

    /// Returns the earliest moment at which `ending` ends `login`.
    ///
    /// After a reboot only the wall clock tells the age of a login. It gets ``RetrySchedule/wallClockGrace``
    /// to be corrected, and requests to the server continue meanwhile.
    func confirmedTime(of ending: Instant, of login: Login) -> Instant {
        guard login.isDatedByWallClock, let restoredAt else { return ending }
        return max(ending, restoredAt + RetrySchedule.wallClockGrace)
    }

    /// Returns the time after which the refresh token of `login` is not sent, or `nil` if only the wall clock of this
    /// start tells it: that may be wrong, and the server knows.
    func certainEnd(of login: Login) -> Instant? { login.isDatedByWallClock ? nil : login.certainEnd }
}

/// The steps of the wall clock since a start of the agent.
struct ClockStepsSinceStart: Equatable, Sendable {
    private var sum = Duration.zero
    private var lowest = Duration.zero

    /// Adds a step.
    ///
    /// - Returns: the time by which the clock is now behind all times that it has shown since the start. The
    ///   times that the start concluded from it were too early by that. A step back that only undoes a step
    ///   forward corrects nothing.
    mutating func correction(after step: Duration) -> Duration {
        sum += step
        defer { lowest = min(lowest, sum) }
        return max(.zero, lowest - sum)
    }
}

/// The end of a login without a server's response.
struct PredictedLoginEnd {
    var at: Instant
    var reason: EndReason
    var message: String
    /// Whether the end is certain, so that no server gets a request after it.
    var isCertain = true
    /// Whether the last refresh extended the login.
    var moves = false
    /// Whether no refresh has shown yet if it extends the login.
    var mayMove = false
}

extension Login {
    /// The maximum difference of ends that count as the same, 60 seconds, because of inexact clocks and whole
    /// seconds.
    private static let endTolerance = Duration.seconds(60)

    fileprivate func hasNoticed(_ end: Instant) -> Bool {
        guard let noticedEnd else { return false }
        return (noticedEnd - end).saturatedNanoseconds.magnitude
            <= Login.endTolerance.saturatedNanoseconds.magnitude
    }
}

extension EndedLogin.RemainingUse {
    /// The time of the next probe or revocation of an ended login, or `nil` if there is none.
    fileprivate var nextTry: Instant? {
        switch self {
        case .none: nil
        case .quarantined(_, _, let probeAt): probeAt
        case .revoking(_, _, let retryAt, _, _): retryAt
        }
    }
}
