// SPDX-License-Identifier: MIT

extension Session {
    /// The attempt in flight.
    var currentAttempt: Attempt? {
        get {
            switch state {
            case .refreshing(_, let attempt), .probing(_, _, let attempt): attempt
            case .loggedOut, .reauthenticating, .ready, .retrying, .suspended: nil
            }
        }
        set {
            guard let newValue else { return }
            switch state {
            case .refreshing(let login, _): become(.refreshing(login, newValue))
            case .probing(let ended, let login, _): become(.probing(ended, login, newValue))
            case .loggedOut, .reauthenticating, .ready, .retrying, .suspended: break
            }
        }
    }

    /// The login that the attempt in flight renews.
    private var renewing: Login? {
        get {
            switch state {
            case .refreshing(let login, _), .probing(_, let login, _): login
            case .loggedOut, .reauthenticating, .ready, .retrying, .suspended: nil
            }
        }
        set {
            guard let newValue else { return }
            switch state {
            case .refreshing(_, let attempt): become(.refreshing(newValue, attempt))
            case .probing(let ended, _, let attempt): become(.probing(ended, newValue, attempt))
            case .loggedOut, .reauthenticating, .ready, .retrying, .suspended: break
            }
        }
    }

    /// Processes the permission to send the refresh token, which is granted, denied or delayed.
    ///
    /// After `held` another result may follow.
    package mutating func reservationFinished(
        _ number: AttemptNumber,
        _ answer: ReservationResult,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        guard let attempt = currentAttempt, attempt.number == number, attempt.isReserving,
            let login = renewing
        else { return [] }
        switch answer {
        case .granted: break
        case .held:
            currentAttempt?.phase = .awaitingPeer
            return []
        case .notBefore(let time, let message):
            let failure = RefreshFailure(kind: .unreachable, message: message)
            guard isRefreshing else { return attemptFailed(failure, jitter: jitter, at: moment) }
            return attemptPostponed(number, until: time, because: failure, at: moment)
        case .unasked(let failure): return keeperRequestFailed(failure.message, at: moment)
        case .unreachable(let storeError):
            return attemptFailed(RefreshFailure(storeError), jitter: jitter, at: moment)
        // A server that keeps refresh tokens cannot take this one away, so it is sent without a reservation.
        case .failed where login.rotation == .keeps && !policy.isShared: break
        case .failed(let failure):
            return attemptFailed(
                RefreshFailure(kind: .storage, message: failure.message),
                jitter: jitter,
                at: moment
            )
        }
        currentAttempt?.phase = .sending
        // From here on the response can be lost, so it counts as missing until it arrives.
        renewing?.use = .unanswered
        return []
    }

    /// Processes the result of a token request.
    package mutating func refreshFinished(
        _ number: AttemptNumber,
        _ outcome: RefreshOutcome,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        guard let attempt = currentAttempt, attempt.number == number, attempt.phase == .sending,
            let login = renewing
        else { return discardLate(outcome) }
        switch outcome {
        case .granted(let granted):
            history.heard(serverClockAhead: granted.serverClockAhead)
            var (renewed, obsolete) = login.refreshed(
                granted,
                by: attempt,
                roles: policy.roles,
                // A fleet has its own rules for the refresh token that counts.
                keepsFormer: !policy.isShared,
                jitter: jitter
            )
            obsolete.formUnion(variantUse.makeRoom(in: &renewed, besides: attempt.variant, at: moment.now))
            let commit = nextCommit()
            currentAttempt?.phase = .committing(commit, renewed, obsolete: obsolete)
            return [.commit(commit, renewed.snapshot(standing: .loggedIn, at: moment))]
        case .unusable(let failure, let saved):
            return keep(saved, of: login, after: failure, jitter: jitter, at: moment)
        case .failed(let failure):
            return attemptFailed(failure, jitter: jitter, at: moment)
        }
    }

    /// Continues after a record is durable, or as safe as it could be made.
    package mutating func commitFinished(
        _ number: CommitNumber,
        _ outcome: CommitDurability,
        at moment: Moment
    ) -> [Effect] {
        storage.wrote(outcome, at: moment.now)
        if case .committing(let login, let adopted, number) = progress {
            return adopt(adopted, finishing: login, isDurable: outcome == .durable, at: moment)
        }
        guard let attempt = currentAttempt,
            case .committing(number, let renewed, let obsolete) = attempt.phase
        else {
            return []
        }
        guard let refusal = attempt.refusal else {
            return publish(renewed, attempt, obsolete: obsolete, at: moment)
        }
        renewing = renewed
        return attemptFailed(refusal.failure, jitter: refusal.jitter, at: moment) + erase(obsolete)
    }

    /// Makes the refresh token of a response with nothing to serve durable before anything else.
    private mutating func keep(
        _ saved: RescuedRefreshToken,
        of login: Login,
        after failure: RefreshFailure,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        // A malformed response may contain something else in place of the refresh token.
        let keepsFormer = failure.kind == .misbehaved && !policy.isShared
        let (renewed, obsolete) = login.renewed(by: saved, keepsFormer: keepsFormer)
        let commit = nextCommit()
        currentAttempt?.refusal = Attempt.UnusableTokenFailure(failure: failure, jitter: jitter)
        currentAttempt?.phase = .committing(commit, renewed, obsolete: obsolete)
        return [.commit(commit, renewed.snapshot(standing: .loggedIn, at: moment))]
    }

    /// Serves the tokens of the response to `attempt`: responds to requests first, then erases the old
    /// secrets.
    private mutating func publish(
        _ renewed: Login,
        _ attempt: Attempt,
        obsolete: Set<SecretID>,
        at moment: Moment
    ) -> [Effect] {
        become(.ready(renewed))
        history.succeeded(for: attempt.reason, at: moment.wallTime)
        var effects = answerSatisfiedRequests(fresh: attempt.variant, at: moment.now)
        effects += obsolete.sorted { $0.rawValue < $1.rawValue }.map(Effect.erase)
        effects.append(.notify(recordRenewal(by: attempt, renewed, at: moment)))
        return effects + advance(wanting: nextWanted(at: moment.now), at: moment)
    }

    /// Records a refresh, and returns its event.
    ///
    /// A response with the rejected token itself is a failure, although it may have contained a refresh
    /// token.
    private mutating func recordRenewal(
        by attempt: Attempt,
        _ renewed: Login,
        at moment: Moment
    ) -> SessionEvent {
        let token = renewed.tokens[attempt.variant]
        guard let token, token.isRefused else {
            var event = SessionEvent(
                refreshedFor: attempt.reason,
                attempt.variant,
                expiresAt: token?.expiresAt
            )
            event.message = renewed.remarks(on: attempt.variant)
            event.notes = renewed.remarks[attempt.variant]?.map(\.kind) ?? []
            return event
        }
        let failure = RefreshFailure(
            kind: .misbehaved,
            message: "the authorization server issued the rejected token again"
        )
        history.failed(failure, for: attempt.reason, at: moment)
        return SessionEvent(failure, of: attempt.reason)
    }

    /// Starts a refresh for `variant`, if one can be started now.
    mutating func advance(wanting variant: TokenVariant?, at moment: Moment) -> [Effect] {
        guard let variant else { return [] }
        let reason = waiters.reason(for: variant)
        switch state {
        case .ready(let login):
            // A token that was rejected immediately is replaced after its delay.
            guard replacementDelay(step(toward: variant, at: moment.now), at: moment.now) == nil else {
                return []
            }
            return start(variant, login, setback: nil, reason: reason, at: moment)
        case .retrying(let login, let setback)
        where setback.consequences.yieldsToRequests && canRetryEarly(at: moment.now):
            return start(variant, login, setback: setback, reason: reason, at: moment)
        case .loggedOut: return startAnew(wanting: variant, reason: reason, at: moment)
        case .retrying, .refreshing, .suspended, .probing, .reauthenticating: return []
        }
    }

    /// Returns whether the token of `variant` is obtained with the login's own access token, not the refresh
    /// token.
    func isDerived(_ variant: TokenVariant) -> Bool { policy.roles == .variants && variant != .primary }

    /// Returns whether another token of `variant` can be obtained.
    ///
    /// The keepers renew only a login's own one.
    func isRenewed(_ variant: TokenVariant, _ login: Login) -> Bool {
        guard !isDerived(variant) else { return true }
        return login.renewal != .impossible && (login.renewal != .byKeepers || variant == .primary)
    }

    /// Returns the variant to renew first for `variant`: the login's own token, if it is required and not
    /// valid.
    func step(toward variant: TokenVariant, at now: Instant) -> TokenVariant {
        isDerived(variant) && !hasGoodOwnToken(at: now) ? .primary : variant
    }

    /// Returns whether the login's own token is valid.
    func hasGoodOwnToken(at now: Instant) -> Bool {
        adequateToken(for: TokenRequirements(deadline: now, wantsLiveLogin: true), at: now) != nil
    }

    /// Starts a refresh of a valid token that is due, so that a variant in use stays fresh.
    mutating func startIfDue(_ variant: TokenVariant, at moment: Moment) -> [Effect] {
        guard case .ready(let login) = state, let token = login.tokens[variant],
            isRenewed(variant, login),
            let due = variant == .primary
                ? dueTime(of: login) : RefreshSchedule.dueTime(for: token, policy: policy.of(variant)),
            due <= moment.now
        else { return [] }
        return start(variant, login, setback: nil, reason: .due, at: moment)
    }

    /// Begins a new attempt.
    ///
    /// A refresh token known to be expired is never sent.
    mutating func start(
        _ wanted: TokenVariant,
        _ login: Login,
        setback: RetryState?,
        reason: RefreshReason,
        at moment: Moment
    ) -> [Effect] {
        if case .committing = progress { return [] }
        let variant = step(toward: wanted, at: moment.now)
        if let end = certainEnd(of: login), end <= moment.now {
            return self.end(
                .refreshTokenExpired,
                "the refresh token has expired",
                login,
                probeAt: nil,
                at: moment
            )
        }
        guard isRenewed(variant, login) else { return [] }
        var attempt = makeAttempt(variant, login, setback: setback, reason: reason, at: moment.now)
        if case .suspended(_, let suspension) = state { attempt.suspension = suspension }
        become(.refreshing(login, attempt))
        return begin(attempt)
    }

    mutating func makeAttempt(
        _ variant: TokenVariant,
        _ login: Login,
        setback: RetryState?,
        reason: RefreshReason,
        at now: Instant
    ) -> Attempt {
        let usesRefreshToken = (login.hasRefreshToken || login.renewal == .byKeepers) && !isDerived(variant)
        return Attempt(
            number: nextAttempt(),
            variant: variant,
            phase: .reserving,
            startedAt: now,
            reason: reason,
            setback: setback,
            usesRefreshToken: usesRefreshToken,
            isReplay: usesRefreshToken && login.use == .unanswered,
            isFirstUse: login.use == .unsent
        )
    }

    /// Begins an attempt that is already in the state.
    mutating func begin(_ attempt: Attempt) -> [Effect] {
        if !attempt.usesRefreshToken { currentAttempt?.phase = .sending }
        return [.begin(attempt.number)]
    }

    /// Returns what has to be durable before the request of attempt `number` is sent, or `nil` if nothing has to be,
    /// or the attempt is not in flight any more.
    package func reservation(of number: AttemptNumber, at moment: Moment) -> SessionSnapshot? {
        guard let attempt = currentAttempt, attempt.number == number, attempt.isReserving,
            let login = renewing
        else { return nil }
        return snapshot(at: moment) ?? login.snapshot(standing: .loggedIn, at: moment)
    }

    /// Returns the token request of attempt `number`, or `nil` if it may not be sent: the attempt has no reservation
    /// yet, or is not in flight any more.
    package func request(
        of number: AttemptNumber,
        within fence: RefreshRequestDeadlines? = nil
    ) -> RefreshRequest? {
        guard let attempt = currentAttempt, attempt.number == number, attempt.phase == .sending,
            let login = renewing
        else { return nil }
        return RefreshRequest(
            attempt: number,
            renewal: attempt.usesRefreshToken ? login.renewal : .withoutLogin,
            variant: attempt.variant,
            idToken: login.primary?.idToken?.secret,
            accessToken: login.primary?.secret,
            // Without a login the configuration names the endpoint. A login's secrets are sent only to its own
            // endpoint.
            tokenEndpoint: login.renewal == .withoutLogin ? nil : login.tokenEndpoint,
            proofKey: login.proofKey,
            grantedScope: login.primary?.scope ?? [],
            server: login.server,
            fence: fence
        )
    }

    /// Returns whether a request may bring the next attempt forward, at most once in ten seconds.
    func canRetryEarly(at now: Instant) -> Bool {
        guard let last = history.lastAttemptEnded else { return true }
        return now - last >= .seconds(10)
    }

    /// Revokes tokens that are no longer needed, after a logout, or after another login that is not ended by
    /// it.
    ///
    /// Not in a fleet: there the host that made the exchange has them. They are not revoked before their use
    /// is settled, because a revocation may end the login for all hosts.
    package func discardLate(_ outcome: RefreshOutcome) -> [Effect] {
        guard !policy.isShared, let late = revocation(of: outcome) else { return [] }
        guard case .granted(let granted) = outcome else { return endLate(late) }
        // Role credentials cannot be revoked.
        if policy.roles != .none, granted.tokenType == AWSRoleTokens.tokenType {
            return [.erase(granted.accessToken)]
        }
        guard let key = granted.origin?.proofKey, key != login?.proofKey else { return endLate(late) }
        return [.erase(key)] + endLate(late)
    }

    /// Revokes the tokens of a response that the fleet does not need either.
    package func endUnused(_ outcome: RefreshOutcome) -> [Effect] {
        revocation(of: outcome).map(endLate) ?? []
    }

    /// Returns the request to revoke the tokens of a response to this session, or `nil` if it has none.
    package func revocation(of outcome: RefreshOutcome) -> RevocationRequest? {
        var late = RevocationRequest(
            refreshToken: nil,
            accessToken: nil,
            tokenEndpoint: login?.tokenEndpoint,
            server: login?.server,
            settings: login.map(\.madeOf) ?? policy.madeOf
        )
        switch outcome {
        case .granted(let granted):
            late.refreshToken = granted.refreshTokenUnchanged ? nil : granted.refreshToken
            late.accessToken = granted.accessToken
            if let origin = granted.origin {
                late.tokenEndpoint = origin.tokenEndpoint
                late.server = origin.server
            }
        case .unusable(_, let saved): late.refreshToken = saved.refreshToken
        case .failed: return nil
        }
        return late
    }
}
