// SPDX-License-Identifier: MIT

import Text

/// Sessions shared by all hosts of a fleet (``SessionPolicy/isShared``), and the effects of other hosts on
/// the login.
extension Session {
    /// Replaces the login with another record of the fleet, which is durable here.
    ///
    /// - Parameters:
    ///   - snapshot: the record, with its times converted to the clocks of this host.
    ///   - isUnproven: whether it is unknown if its refresh token is valid, so that it is tried at once.
    ///   - mayLogInNoninteractively: whether this host may make a noninteractive login if the login is over.
    ///     One of all hosts should.
    ///   - jitter: a random number in `0..<1`. Hosts that adopt the same record have different ones, and
    ///     refresh at different times.
    ///   - moment: the current time.
    /// - Returns: the effects to execute.
    package mutating func recordAdopted(
        _ snapshot: SessionSnapshot,
        isUnproven: Bool = false,
        mayLogInNoninteractively: Bool = false,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        var adopted = Login(snapshot, at: moment)
        adopted.delegateRefresh(to: policy)
        for variant in adopted.tokens.keys { adopted.tokens[variant]?.jitter = jitter }
        switch snapshot.standing {
        case .loggedIn: return adopt(adopted, isUnproven: isUnproven, at: moment)
        case .ended(.loggedOut, _): return leave(adopted, at: moment)
        case .ended(let reason, _):
            return end(adopted, reason, mayLogInNoninteractively: mayLogInNoninteractively, at: moment)
        }
    }

    /// Returns this host to the fleet after a logout here alone, as the user requested.
    package mutating func rejoined() -> [Effect] {
        guard case .loggedOut(var ended) = state else { return [] }
        ended.isHereAlone = false
        become(.loggedOut(ended))
        return []
    }

    /// Abandons the login that is being stored here, because another login came first.
    ///
    /// Its tokens are also revoked at the server, if that is known to end nothing else.
    package mutating func loginSuperseded(_ number: CommitNumber) -> [Effect] {
        guard case .committing(let login, let granted, number) = progress else { return [] }
        progress = nil
        return [.finishLogin(login, .superseded)] + endReplaced(granted)
    }

    private mutating func adopt(_ adopted: Login, isUnproven: Bool, at moment: Moment) -> [Effect] {
        if login == nil, let ending = endTime(of: adopted), ending.at <= moment.now {
            return pass(over: adopted, ending, at: moment)
        }
        var adopted = adopted
        let isNew = login == nil
        if let login {
            adopted.refused = login.refused
            adopted.noticedEnd = login.noticedEnd
        }
        let held = heldSecrets
        become(.ready(adopted))
        storage = StorageHealth()
        history.renewed()
        let name: EventName = isNew ? .loggedIn : .refreshed
        let told =
            answerSatisfiedRequests(fresh: .primary, isAdopted: true, at: moment.now)
            + failUnsatisfiableRequests(at: moment.now)
            + erase(held.subtracting(heldSecrets))
            + [.notify(SessionEvent(name, expiresAt: adopted.primary?.expiresAt))]
        guard !isUnproven else {
            return told + start(.primary, adopted, setback: nil, reason: .due, at: moment)
        }
        return told + advance(wanting: nextWanted(at: moment.now), at: moment)
    }

    /// Keeps the session logged out, because the login has expired at this host, even if other hosts
    /// continue.
    private mutating func pass(
        over adopted: Login,
        _ ending: PredictedLoginEnd,
        at moment: Moment
    ) -> [Effect] {
        guard case .loggedOut = state else { return erase(adopted.secrets.subtracting(heldSecrets)) }
        let held = heldSecrets.union(adopted.secrets)
        // The user may still log out, here and everywhere.
        let erasedAt = moment.now + RetrySchedule.quarantine
        let afterlife = EndedLogin.RemainingUse.quarantined(adopted, erasedAt: erasedAt, probeAt: nil)
        var ended = EndedLogin(
            reason: ending.reason,
            message: ending.message,
            at: moment.wallTime,
            afterlife: afterlife
        )
        ended.reduce(to: remains(probeAt: nil))
        become(.loggedOut(ended))
        return erase(held.subtracting(heldSecrets))
    }

    /// Ends the login because of a logout on another host during a refresh here.
    ///
    /// The response to the refresh is late. ``recordAdopted(_:isUnproven:mayLogInNoninteractively:jitter:at:)``
    /// follows.
    package mutating func loggedOutElsewhere(at moment: Moment) -> [Effect] {
        guard login != nil else { return [] }
        let held = heldSecrets
        let message = "logged out on another host"
        become(
            .loggedOut(
                EndedLogin(reason: .loggedOut, message: message, at: moment.wallTime, afterlife: .none)
            )
        )
        storage = StorageHealth()
        return settleAll(loginRequired, at: moment.now) + erase(held.subtracting(heldSecrets))
            + [.notify(SessionEvent(.loggedOut))]
    }

    /// Ends the login because of a logout on another host, which has revoked it at the server.
    private mutating func leave(_ adopted: Login, at moment: Moment) -> [Effect] {
        let told = loggedOutElsewhere(at: moment)
        return told + [.forget] + erase(adopted.secrets.subtracting(heldSecrets))
    }

    /// Ends the login because the server rejects it, as one of the hosts has found out.
    private mutating func end(
        _ adopted: Login,
        _ reason: EndReason,
        mayLogInNoninteractively: Bool,
        at moment: Moment
    ) -> [Effect] {
        guard login != nil else {
            return erase(adopted.secrets.subtracting(heldSecrets))
        }
        let held = heldSecrets
        become(.ready(adopted))
        let obsolete = erase(held.subtracting(heldSecrets))
        let noninteractiveLogins = policy.noninteractiveLogins
        if !mayLogInNoninteractively { policy.noninteractiveLogins = [] }
        defer { policy.noninteractiveLogins = noninteractiveLogins }
        return obsolete + end(reason, Session.refusedMessage, adopted, probeAt: nil, at: moment)
    }

    /// Returns whether the commit with this number makes a new login durable.
    package func isLogin(_ commit: CommitNumber) -> Bool {
        if case .committing(_, _, commit) = progress { true } else { false }
    }

    /// Whether the server does not replace refresh tokens, so that each refresh returns the one that was
    /// sent.
    package var keepsRefreshToken: Bool { login?.rotation == .keeps }

    /// Whether the refresh token of the attempt in flight had never been sent when the attempt began.
    package var isFirstUse: Bool { currentAttempt?.isFirstUse ?? false }

    /// Whether the login has been refreshed before.
    package var hasRefreshed: Bool { login?.hasRefreshed ?? false }

    /// Refreshes because another host, which cannot refresh by itself, requests a token other than the
    /// current one.
    package mutating func refreshAsked(at moment: Moment) -> [Effect] {
        guard case .ready(let login) = state else { return [] }
        return start(.primary, login, setback: nil, reason: .asked, at: moment)
    }

    /// Fails requests for another token, because this host may not ask the keepers for one.
    ///
    /// Once the current one is due, all requests wait: the keepers refresh it automatically.
    mutating func keeperRequestFailed(_ message: String, at moment: Moment) -> [Effect] {
        guard case .refreshing(let login, var attempt) = state else { return [] }
        let denial = ServingFailure.temporarilyUnavailable(message: message, retryAfter: nil)
        if let due = dueTime(of: login), due > moment.now {
            become(.ready(login))
            return settleAll(denial, at: moment.now)
        }
        attempt.denial = denial
        become(.refreshing(login, attempt))
        return failDeniedRequests()
    }

    /// Fails the requests for another token when nobody can be asked for one.
    ///
    /// If the current one was rejected, all fail.
    mutating func failDeniedRequests() -> [Effect] {
        guard let denial = currentAttempt?.denial else { return [] }
        let isRefused = unavailabilityReason != nil
        return waiters.answer { $0.newerThan == nil && !isRefused ? nil : .failure(denial) }
    }

    /// The reason no token is available until a keeper refreshes, or `nil` if one is available or expected
    /// soon.
    var unavailabilityReason: String? {
        guard case .temporarilyUnavailable(let message, _, _)? = currentAttempt?.denial,
            login?.primary?.isRefused == true
        else { return nil }
        return message
    }

    /// Fails requests made before there was a login, if no reader can get their token.
    private mutating func failUnsatisfiableRequests(at now: Instant) -> [Effect] {
        guard let login else { return [] }
        let session = self
        return waiters.answer { waiter in
            let step = session.step(toward: waiter.need.variant, at: now)
            return session.readerFailure(step, login).map { .failure($0) }
        }
    }

    /// Returns the failure for a token that a reader cannot get, or `nil` if it can.
    ///
    /// A reader has only the tokens of other scopes and audiences that the keepers had when they refreshed.
    func readerFailure(_ step: TokenVariant, _ login: Login) -> ServingFailure? {
        guard login.renewal == .byKeepers, !isRenewed(step, login) else { return nil }
        return .misconfigured(
            message: "this host is a reader, and the keepers of the fleet have no such valid token",
            remedy: .retry("at a host with role = \"keeper\"")
        )
    }

    /// Returns whether this host is a reader that has to deny `need`, as far as it knows.
    package func lacksAsReader(_ need: TokenRequirements, at now: Instant) -> Bool {
        guard let login, !meets(need, at: now) else { return false }
        return readerFailure(step(toward: need.variant, at: now), login) != nil
    }

    private static let refusedMessage = "the authorization server no longer accepts the login"
}

extension Login {
    /// Delegates the refresh to the keepers if this host is a reader.
    ///
    /// If it is not, a login that the keepers refreshed cannot be renewed.
    mutating func delegateRefresh(to policy: SessionPolicy) {
        if policy.isReader { renewal = .byKeepers } else if renewal == .byKeepers { renewal = .impossible }
    }
}
