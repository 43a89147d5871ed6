// SPDX-License-Identifier: MIT

/// Sessions that all hosts of a fleet have (``SessionPolicy/isShared``): what another host did to the login.
extension Session {
    /// The fleet has another record of this session, which is durable here: it takes the place of the login.
    ///
    /// - Parameters:
    ///   - snapshot: the record, its times as the clocks of this host show them.
    ///   - isUnproven: nobody knows whether its refresh token is good, so it is tried at once.
    ///   - mayLogInSilently: if the login is over, this host may log in anew without a person; of all hosts one should.
    ///   - jitter: in `0..<1`; hosts that adopt the same record have different ones, and refresh at different times.
    ///   - moment: now.
    /// - Returns: what to do.
    package mutating func recordAdopted(
        _ snapshot: SessionSnapshot,
        isUnproven: Bool = false,
        mayLogInSilently: Bool = false,
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
            return end(adopted, reason, mayLogInSilently: mayLogInSilently, at: moment)
        }
    }

    /// A person has this host take part again, after a logout here alone.
    package mutating func rejoined() -> [Effect] {
        guard case .loggedOut(var ended) = state else { return [] }
        ended.isHereAlone = false
        state = .loggedOut(ended)
        return []
    }

    /// Somebody else's login came first: the one that is being stored here is given up.
    ///
    /// Its tokens end at the server too, if that is known to end nothing else.
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
        state = .ready(adopted)
        storage = StorageHealth()
        history.renewed()
        let kind: SessionEvent.Kind = isNew ? .loggedIn : .refreshed
        let told =
            answerSatisfiedRequests(fresh: .primary, isAdopted: true, at: moment.now)
            + failUnsatisfiableRequests(at: moment.now)
            + erase(held.subtracting(heldSecrets))
            + [.notify(SessionEvent(kind, expiresAt: adopted.primary?.expiresAt))]
        guard !isUnproven else {
            return told + start(.primary, adopted, setback: nil, reason: .due, at: moment)
        }
        return told + advance(wanting: nextWanted(at: moment.now), at: moment)
    }

    /// At this host the login has ended by itself; it stays ended here, whatever the others make of it.
    private mutating func pass(over adopted: Login, _ ending: Ending, at moment: Moment) -> [Effect] {
        guard case .loggedOut = state else { return erase(adopted.secrets.subtracting(heldSecrets)) }
        let held = heldSecrets.union(adopted.secrets)
        // A person may still log out, here and everywhere.
        let erasedAt = moment.now + RetrySchedule.quarantine
        let afterlife = EndedLogin.Disposition.quarantined(adopted, erasedAt: erasedAt, probeAt: nil)
        var ended = EndedLogin(
            reason: ending.reason,
            message: ending.message,
            at: moment.wallTime,
            afterlife: afterlife
        )
        ended.reduce(to: remains(probeAt: nil))
        state = .loggedOut(ended)
        return erase(held.subtracting(heldSecrets))
    }

    /// Somebody logged out elsewhere while a refresh is under way: its answer is late, and ``recordAdopted`` follows it.
    package mutating func loggedOutElsewhere(at moment: Moment) -> [Effect] {
        guard login != nil else { return [] }
        let held = heldSecrets
        let message = "logged out on another host"
        state = .loggedOut(
            EndedLogin(reason: .loggedOut, message: message, at: moment.wallTime, afterlife: .none)
        )
        storage = StorageHealth()
        return settleAll(loginRequired, at: moment.now) + erase(held.subtracting(heldSecrets))
            + [.notify(SessionEvent(.loggedOut))]
    }

    /// Somebody logged out elsewhere, and has told the server.
    private mutating func leave(_ adopted: Login, at moment: Moment) -> [Effect] {
        let told = loggedOutElsewhere(at: moment)
        return told + [.forget] + erase(adopted.secrets.subtracting(heldSecrets))
    }

    /// The server refuses the login, as one of the hosts has found out.
    private mutating func end(
        _ adopted: Login,
        _ reason: EndReason,
        mayLogInSilently: Bool,
        at moment: Moment
    ) -> [Effect] {
        guard login != nil else {
            return erase(adopted.secrets.subtracting(heldSecrets))
        }
        let held = heldSecrets
        state = .ready(adopted)
        let obsolete = erase(held.subtracting(heldSecrets))
        let silentLogins = policy.silentLogins
        if !mayLogInSilently { policy.silentLogins = [] }
        defer { policy.silentLogins = silentLogins }
        return obsolete + end(reason, Session.refusedMessage, adopted, probeAt: nil, at: moment)
    }

    /// The commit with this number makes a new login durable.
    package func isLogin(_ commit: CommitNumber) -> Bool {
        if case .committing(_, _, commit) = progress { true } else { false }
    }

    /// The server has turned out to keep refresh tokens: each refresh is answered with the one that was sent.
    package var keepsRefreshToken: Bool { login?.rotation == .keeps }

    /// The refresh token of the attempt under way had never been sent when the attempt began.
    package var isFirstUse: Bool { currentAttempt?.isFirstUse ?? false }

    /// The login has been refreshed before.
    package var hasRefreshed: Bool { login?.hasRefreshed ?? false }

    /// Another host, which cannot refresh by itself, wants a token other than the present one.
    package mutating func refreshAsked(at moment: Moment) -> [Effect] {
        guard case .ready(let login) = state else { return [] }
        return start(.primary, login, setback: nil, reason: .asked, at: moment)
    }

    /// This host has no right to ask the keepers for another token: who wants one waits in vain.
    ///
    /// Once the present one is due, who wants any waits: the keepers refresh it by themselves.
    mutating func keeperRequestFailed(_ message: String, at moment: Moment) -> [Effect] {
        guard case .refreshing(let login, var attempt) = state else { return [] }
        let denial = ServingFailure.temporarilyUnavailable(message: message, retryAfter: nil)
        if let due = dueTime(of: login), due > moment.now {
            state = .ready(login)
            return settleAll(denial, at: moment.now)
        }
        attempt.denial = denial
        state = .refreshing(login, attempt)
        return failDeniedRequests()
    }

    /// Answers those who want another token although nobody can be asked for one; where the present one was refused, all do.
    mutating func failDeniedRequests() -> [Effect] {
        guard let denial = currentAttempt?.denial else { return [] }
        let isRefused = unavailabilityReason != nil
        return waiters.answer { $0.newerThan == nil && !isRefused ? nil : .failure(denial) }
    }

    /// Why there is no token to be had before the keepers refresh by themselves; `nil`: there is one, or one comes soon.
    var unavailabilityReason: String? {
        guard case .temporarilyUnavailable(let message, _)? = currentAttempt?.denial,
            login?.primary?.isRefused == true
        else { return nil }
        return message
    }

    /// Answers those who asked before there was a login for what no reader gets.
    private mutating func failUnsatisfiableRequests(at now: Instant) -> [Effect] {
        guard let login else { return [] }
        let session = self
        return waiters.answer { waiter in
            let step = session.step(toward: waiter.need.variant, at: now)
            return session.readerFailure(step, login).map { .failure($0) }
        }
    }

    /// A reader has the tokens of other scopes and audiences that the keepers had when they refreshed.
    func readerFailure(_ step: TokenVariant, _ login: Login) -> ServingFailure? {
        guard login.renewal == .byKeepers, !isRenewed(step, login) else { return nil }
        return .misconfigured(
            message: "this host is a reader, and the keepers of the fleet have no good token like this",
            remedy: "ask for it at a host with role = \"keeper\""
        )
    }

    /// Whether this host is a reader that has to refuse `need`, as far as it knows.
    package func lacksAsReader(_ need: TokenRequirements, at now: Instant) -> Bool {
        guard let login, !meets(need, at: now) else { return false }
        return readerFailure(step(toward: need.variant, at: now), login) != nil
    }

    private static let refusedMessage = "the authorization server does not accept the login any more"
}

extension Login {
    /// On a reader the keepers refresh what it has, and else nobody.
    mutating func delegateRefresh(to policy: SessionPolicy) {
        if policy.isReader { renewal = .byKeepers } else if renewal == .byKeepers { renewal = .impossible }
    }
}
