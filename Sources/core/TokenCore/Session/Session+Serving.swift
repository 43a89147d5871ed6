// SPDX-License-Identifier: MIT

import Text

extension Session {
    /// Requests a token.
    ///
    /// A token with enough remaining validity is served at once, regardless of the state. Otherwise the
    /// request joins the one refresh of its variant.
    package mutating func tokenRequested(
        by waiter: WaiterID,
        _ need: TokenRequirements,
        at moment: Moment
    ) -> [Effect] {
        resolveTokenTrials(need, at: moment.now)
        if let token = adequateToken(for: need, at: moment.now) {
            variantUse.recordUse(of: need.variant, at: moment.now)
            return [.reply(waiter, .token(token))] + startIfDue(need.variant, at: moment)
        }
        if let failure = immediateFailure(for: need, at: moment.now) {
            return [
                .reply(waiter, lastResort(for: need, at: moment.now).map(Reply.token) ?? .failure(failure))
            ]
        }
        waiters.add(
            waiter,
            Waiters.Waiter(need: need, doubtAcceptedAt: doubtAcceptanceTime(for: need, at: moment.now))
        )
        let wanted = need.isForeign ? nextWanted(at: moment.now) : need.variant
        return advance(wanting: wanted, at: moment) + answerNonWaitingRequests(at: moment.now)
    }

    /// Returns the response to all requests without special requirements, valid while ``revision`` is
    /// unchanged.
    ///
    /// - Returns: the token, or `nil` if each request has to be decided, because it may change something.
    package func cachedToken(at now: Instant) -> CachedToken? {
        if let login, login.tokens.values.contains(where: { $0.standing.isInDoubt }) { return nil }
        guard let token = adequateToken(for: TokenRequirements(deadline: now), at: now) else { return nil }
        var ends: [Instant] = []
        if let expiresAt = token.expiresAt {
            ends.append(
                expiresAt - requiredLifetime(of: token.life, for: TokenRequirements(deadline: now))
                    + .nanoseconds(1)
            )
        }
        if case .ready(let login) = state, let due = dueTime(of: login) { ends.append(due) }
        let until = ends.min() ?? Instant(nanoseconds: .max)
        return until > now ? CachedToken(token: token, until: until) : nil
    }

    /// Returns whether `need` can be met at once, without changing anything.
    package func meets(_ need: TokenRequirements, at now: Instant) -> Bool {
        adequateToken(for: need, at: now) != nil
    }

    /// Returns a token that meets `need` at once, even in its last seconds, or `nil` if there is none.
    ///
    /// The session does not change.
    package func token(for need: TokenRequirements, at now: Instant) -> AccessToken? {
        adequateToken(for: need, at: now) ?? lastResort(for: need, at: now)
    }

    /// Returns the variant to refresh first for waiting requests, or `nil` if there are none.
    ///
    /// Requests of the owner's programs are first, then the login's own token if it is due, then requests
    /// through a `[[socket]]`.
    func nextWanted(at now: Instant) -> TokenVariant? {
        if let own = waiters.nextVariant(isForeign: false) { return own }
        guard let foreign = waiters.nextVariant(isForeign: true) else { return nil }
        if let login, let due = dueTime(of: login), due <= now { return .primary }
        return foreign
    }

    /// Whether the attempt in flight is only for requests through a `[[socket]]`, and not for the login's own
    /// token.
    var isForeignAttempt: Bool {
        guard let variant = currentAttempt?.variant, variant != .primary else { return false }
        return waiters.areForeign(for: variant)
    }

    /// Whether no attempt is in flight and none has failed, so that a requested token is fetched at once.
    package var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// Whether new tokens can be obtained without logging in again.
    package var canRefresh: Bool { login.map { $0.renewal != .impossible } ?? policy.startsByItself }

    /// Whether a request of the owner's programs waits.
    var isDemanded: Bool { waiters.nextVariant(isForeign: false) != nil }

    /// Removes a requester that left.
    ///
    /// A refresh that it started continues for the others.
    package mutating func requestWithdrawn(by waiter: WaiterID) -> [Effect] {
        _ = waiters.remove(waiter)
        return []
    }

    /// Requests a new token although the current one may be valid.
    ///
    /// - Parameters:
    ///   - waiter: the requester.
    ///   - variant: the variant of the token.
    ///   - rejected: a token that is not accepted. If the session already has another one, that is served.
    ///     With `nil` the session refreshes in any case.
    ///   - reason: the reason. By default a server has just rejected the token, or without `rejected` the
    ///     user requested it.
    ///   - deadline: the requester's deadline.
    ///   - moment: the current time.
    /// - Returns: the effects to execute.
    package mutating func refreshRequested(
        by waiter: WaiterID,
        _ variant: TokenVariant = .primary,
        rejecting rejected: SecretID?,
        because reason: RefreshReason? = nil,
        deadline: Instant,
        at moment: Moment
    ) -> [Effect] {
        if let rejected, let held = usableToken(variant), held.secret != rejected,
            login == nil || held.standing != .possiblyExpired
        {
            variantUse.recordUse(of: variant, at: moment.now)
            return [.reply(waiter, .token(held))]
        }
        guard let login else {
            guard mayStart(byPerson: rejected == nil, at: moment.now) else {
                return [.reply(waiter, .failure(loginRequired))]
            }
            let need = TokenRequirements(variant: variant, deadline: deadline)
            waiters.add(waiter, Waiters.Waiter(need: need, reason: .person))
            return startAnew(wanting: variant, reason: .person, at: moment)
        }
        guard login.renewal != .impossible else {
            // The token is valid anyway, unless a server has rejected it.
            let failure = rejected == nil && usableToken(variant) != nil ? notRefreshable : loginRequired
            return [.reply(waiter, .failure(failure))]
        }
        if let failure = readerFailure(step(toward: variant, at: moment.now), login) {
            return [.reply(waiter, .failure(failure))]
        }
        if rejected != nil, let failure = replacementDelay(variant, at: moment.now) {
            return [.reply(waiter, .failure(failure))]
        }
        if let refusal = login.refusals[variant], refusal.until > moment.now {
            return [.reply(waiter, .failure(misconfigured(by: refusal)))]
        }
        let need = TokenRequirements(variant: variant, deadline: deadline)
        let newerThan = currentAttempt?.startedAt ?? moment.now
        let reason = reason ?? (rejected == nil ? .person : .refusedToken)
        waiters.add(waiter, Waiters.Waiter(need: need, newerThan: newerThan, reason: reason))
        switch state {
        case .ready(let login), .suspended(let login, _):
            return start(variant, login, setback: nil, reason: reason, at: moment)
        case .retrying(let login, let setback):
            // The user may always start an attempt. A report of a rejection may not, soon after an attempt or
            // during a delay that the server requested.
            let mayStart =
                rejected == nil || setback.latest.retryAfter == nil && canRetryEarly(at: moment.now)
            guard mayStart else { return answerNonWaitingRequests(at: moment.now) }
            return start(variant, login, setback: setback, reason: reason, at: moment)
        case .refreshing: return failDeniedRequests()
        case .probing, .loggedOut, .reauthenticating: return []
        }
    }

    /// Returns the failure for requests when only the user can correct the cause.
    func misconfigured(by failure: RefreshFailure) -> ServingFailure {
        .misconfigured(message: failure.message, remedy: failure.correction(of: name))
    }

    /// Returns the message of the server's rejection of `variant` while it is not requested again, or `nil`.
    package func refusal(of variant: TokenVariant, at now: Instant) -> String? {
        login?.refusals[variant].flatMap { $0.until > now ? $0.message : nil }
    }

    /// Returns the failure for requests for a token that the server rejected.
    func misconfigured(by refusal: Login.VariantRejection) -> ServingFailure {
        let failure = RefreshFailure(kind: .misconfigured, message: refusal.message)
        return .misconfigured(
            message: refusal.message,
            remedy: refusal.remedy ?? failure.correction(of: name)
        )
    }

    /// Returns the reason `need` cannot be met now or by waiting, or `nil` if it waits.
    private func immediateFailure(for need: TokenRequirements, at now: Instant) -> ServingFailure? {
        guard let login else { return isReauthenticating || mayStart(at: now) ? nil : loginRequired }
        if let refusal = login.refusals[need.variant], refusal.until > now {
            return misconfigured(by: refusal)
        }
        if case .suspended(_, let suspension) = state {
            return misconfigured(by: suspension.failure)
        }
        let step = step(toward: need.variant, at: now)
        if login.renewal == .impossible, !isDerived(step) { return failureWithoutRefresh(need, login) }
        if let failure = readerFailure(step, login) { return failure }
        if let failure = replacementDelay(step, at: now),
            let token = login.tokens[step], token.replaceableAt >= need.deadline
        {
            return failure
        }
        guard currentAttempt == nil else { return nil }
        return recentRefreshFailure(need, login, at: now)
    }

    /// Returns the failure that the server just caused.
    ///
    /// Another request would cause a request storm.
    ///
    /// For an ID token that no newer one has followed, or that had expired when it arrived, this holds until
    /// its access token is due.
    private func recentRefreshFailure(
        _ need: TokenRequirements,
        _ login: Login,
        at now: Instant
    ) -> ServingFailure? {
        guard let token = usableToken(need.variant) else { return nil }
        let isNew = now - token.obtainedAt < .seconds(10)
        let life = token.life(isID: need.wantsIDToken)
        if need.wantsIDToken {
            guard token.idToken != nil else {
                return isNew || token.obtainedAt > login.loggedInAt ? .noIDToken : nil
            }
            if token.lacksNewIDToken {
                let wasEnough = life.lasts(requiredLifetime(of: life, for: need), from: token.obtainedAt)
                let isGood = meets(TokenRequirements(variant: need.variant, deadline: now), at: now)
                return wasEnough || !isGood ? nil : idTokenNotRenewedFailure(life, for: need)
            }
        }
        let least = need.minimumValidity ?? (need.wantsIDToken ? .nanoseconds(1) : .zero)
        guard isNew, let lifetime = life.lifetime, least >= lifetime else { return nil }
        return .validityUnattainable(lifetime: lifetime)
    }

    /// Returns the reason a new `token` does not meet `need`, or `nil` if it is served anyway.
    private func validityFailure(
        of token: AccessToken,
        for need: TokenRequirements,
        at now: Instant
    ) -> ServingFailure? {
        let life = token.life(isID: need.wantsIDToken)
        if need.wantsIDToken {
            guard token.idToken != nil else { return .noIDToken }
            if token.lacksNewIDToken {
                let isLeft = need.minimumValidity == nil && life.lasts(.seconds(1), from: now)
                return isLeft ? nil : idTokenNotRenewedFailure(life, for: need)
            }
        }
        let isEnded = need.wantsIDToken && !life.lasts(.nanoseconds(1), from: now)
        guard need.minimumValidity != nil || isEnded else { return nil }
        return life.lifetime.map { .validityUnattainable(lifetime: $0) }
    }

    /// Returns the failure for requests that need a longer valid ID token than the last refresh provided.
    private func idTokenNotRenewedFailure(
        _ life: ValidityPeriod,
        for need: TokenRequirements
    ) -> ServingFailure {
        // An ID token that had expired when it arrived says nothing about the lifetime of others.
        if let minimum = need.minimumValidity, let lifetime = life.lifetime, lifetime > .zero,
            minimum > lifetime
        {
            return .validityUnattainable(lifetime: lifetime)
        }
        return .idTokenNotRenewed(remedy: loginElsewhere)
    }

    /// Returns whether the ID token of `variant` has expired, and a refresh brought no better one.
    package func isIDTokenExpired(of variant: TokenVariant, at now: Instant) -> Bool {
        let need = TokenRequirements(variant: variant, wantsIDToken: true, deadline: now)
        guard let login, token(for: need, at: now) == nil else { return false }
        if case .idTokenNotRenewed = recentRefreshFailure(need, login, at: now) { return true }
        return false
    }

    /// Returns the reason a login that cannot be refreshed does not meet `need`.
    private func failureWithoutRefresh(_ need: TokenRequirements, _ login: Login) -> ServingFailure {
        let isMissed = need.wantsIDToken && usableToken(need.variant).map { $0.idToken == nil } ?? false
        return isMissed ? .noIDToken : loginRequired
    }

    private var isReauthenticating: Bool {
        if case .reauthenticating = state { true } else { false }
    }

    /// Returns the token of `variant`, or `nil` if a server has rejected it.
    func usableToken(_ variant: TokenVariant) -> AccessToken? {
        servable?.tokens[variant].flatMap { $0.isRefused ? nil : $0 }
    }

    /// Returns a token that meets `need`.
    func adequateToken(for need: TokenRequirements, at now: Instant) -> AccessToken? {
        guard !need.wantsLiveLogin || login != nil, let token = usableToken(need.variant),
            !need.wantsIDToken || token.idToken != nil, isServed(token, to: need)
        else { return nil }
        let life = token.life(isID: need.wantsIDToken)
        return life.lasts(requiredLifetime(of: life, for: need), from: now) ? token : nil
    }

    /// Returns the remaining validity that meets `need`.
    ///
    /// It is positive even if no minimum is requested.
    private func requiredLifetime(of life: ValidityPeriod, for need: TokenRequirements) -> Duration {
        let least = RefreshSchedule.requiredValidity(
            of: life,
            minimum: need.minimumValidity,
            policy: policy.of(need.variant)
        )
        return max(least, .nanoseconds(1))
    }

    /// Returns whether `token` may be served.
    ///
    /// A doubtful one is renewed instead, if a live login can do that.
    private func isServed(_ token: AccessToken, to need: TokenRequirements) -> Bool {
        switch token.standing {
        case .good: true
        case .doubtful: login == nil
        case .onTrial: login == nil || need.reportsRefusals
        // A token that this host cannot refresh is served while its own claims allow it
        // (``ValidityPeriod/statedEnd``).
        case .possiblyExpired:
            login.map { $0.renewal == .byKeepers || !isRenewed(need.variant, $0) } ?? true
        case .refused: false
        }
    }

    /// Returns a token valid for at least a second, for a requester that named no minimum.
    ///
    /// Role credentials are never served like that, because an SDK uses them until they expire.
    func lastResort(for need: TokenRequirements, at now: Instant) -> AccessToken? {
        guard need.minimumValidity == nil, !policy.roles.include(need.variant),
            !need.wantsLiveLogin || login != nil,
            let token = usableToken(need.variant), !need.wantsIDToken || token.idToken != nil
        else { return nil }
        return token.life(isID: need.wantsIDToken).lasts(.seconds(1), from: now) ? token : nil
    }

    /// Returns the token for `need` that would be served at once if it were not in doubt.
    ///
    /// At a server that ends the earlier tokens of a login there is none.
    private func tokenInDoubt(for need: TokenRequirements, at now: Instant) -> AccessToken? {
        guard login?.coexistence == .unknown, let token = lastResort(for: need, at: now) else { return nil }
        let life = token.life(isID: need.wantsIDToken)
        guard life.lasts(requiredLifetime(of: life, for: need), from: now) else { return nil }
        return token.standing.isInDoubt && token.standing != .possiblyExpired ? token : nil
    }

    /// Returns the time from which the token in doubt is served to `need`, or `nil` if there is none.
    ///
    /// A server that leaves one request without an answer must not hold a token that is probably valid.
    private func doubtAcceptanceTime(for need: TokenRequirements, at now: Instant) -> Instant? {
        guard tokenInDoubt(for: need, at: now) != nil else { return nil }
        return (currentAttempt?.startedAt ?? now) + RetrySchedule.waitInDoubt
    }

    /// Responds to the requests that do not wait, or for which waiting is useless.
    private mutating func answerNonWaitingRequests(at now: Instant) -> [Effect] {
        guard case .retrying(_, let setback) = state else {
            return failDeniedRequests() + decideOverdueRequests(at: now)
        }
        return answerAfterFailure(setback, at: now)
    }

    /// Responds to the requests whose deadline has passed, and to those that accept a token in doubt by now.
    mutating func decideOverdueRequests(at now: Instant) -> [Effect] {
        guard let earliest = waiters.earliestDecision, earliest <= now else { return [] }
        let failure = ServingFailure.temporarilyUnavailable(
            message: waitingMessage,
            retryAfter: max(.seconds(1), (nextTry ?? now) - now)
        )
        let session = self
        defer { waiters.withdrawAcceptance(at: now) }
        return waiters.answer { waiter in
            guard waiter.need.deadline <= now else {
                guard waiter.decisionTime <= now else { return nil }
                return session.tokenInDoubt(for: waiter.need, at: now).map(Reply.token)
            }
            guard waiter.newerThan == nil, let token = session.lastResort(for: waiter.need, at: now) else {
                return .failure(failure)
            }
            return .token(token)
        }
    }

    /// Responds to the requests that the current tokens satisfy.
    ///
    /// - Parameters:
    ///   - fresh: the variant that has just been refreshed, so that its requests do not wait for a better
    ///     token.
    ///   - isAdopted: whether another host obtained the tokens. Their times are of another clock, and the
    ///     tokens are new here.
    ///   - now: the current time.
    /// - Returns: the replies.
    mutating func answerSatisfiedRequests(
        fresh: TokenVariant?,
        isAdopted: Bool = false,
        at now: Instant
    ) -> [Effect] {
        let session = self
        return waiters.answer { waiter in
            guard let token = session.servable?.tokens[waiter.need.variant] else { return nil }
            if let newerThan = waiter.newerThan, token.obtainedAt < newerThan, !isAdopted { return nil }
            if let adequate = session.adequateToken(for: waiter.need, at: now) { return .token(adequate) }
            guard waiter.need.variant == fresh else { return nil }
            if token.isRefused {
                return session.replacementDelay(waiter.need.variant, at: now).map(Reply.failure)
            }
            return session.validityFailure(of: token, for: waiter.need, at: now).map(Reply.failure)
                ?? .token(token)
        }
    }

    /// Responds to the requests for `variant` (or all for `nil`) with `failure`, or with a token that is
    /// still valid.
    mutating func settleAll(
        _ failure: ServingFailure,
        variant: TokenVariant? = nil,
        at now: Instant
    ) -> [Effect] {
        let session = self
        return waiters.answer { waiter in
            guard variant == nil || waiter.need.variant == variant else { return nil }
            guard waiter.newerThan == nil, let token = session.lastResort(for: waiter.need, at: now) else {
                return .failure(failure)
            }
            return .token(token)
        }
    }

    var loginRequired: ServingFailure {
        switch state {
        case .loggedOut(let ended), .probing(let ended, _, _), .reauthenticating(let ended, _):
            .loginRequired(ended.reason, message: ended.message, remedy: substitute(for: ended))
        case .ready, .refreshing, .retrying, .suspended:
            .loginRequired(.noRefreshToken, message: Session.noRefreshTokenMessage, remedy: loginElsewhere)
        }
    }

    /// Returns the advice for an ended login, if it is not to log in to this session at this host.
    func substitute(for ended: EndedLogin) -> Remedy? {
        if policy.isShared, ended.isHereAlone { return SessionPolicy.rejoining(name) }
        return ended.remedy ?? loginElsewhere
    }

    private var notRefreshable: ServingFailure {
        .notRefreshable(
            message: "cannot refresh: \(Session.noRefreshTokenMessage)",
            remedy: loginElsewhere
        )
    }

    private var loginElsewhere: Remedy? { policy.loginElsewhere(to: name) }

    static let noRefreshTokenMessage = "the issuer returned no refresh token"

    private var nextTry: Instant? {
        guard case .retrying(_, let setback) = state else { return nil }
        return setback.nextTry
    }

    private var silenceMessage: String {
        policy.isReader
            ? "waiting for a keeper of the fleet to refresh (see: tokenctl fleet status)"
            : "no response yet"
    }

    private var waitingMessage: String {
        switch state {
        case .retrying(_, let setback): setback.latest.message
        case .refreshing(_, let attempt): attempt.setback?.latest.message ?? silenceMessage
        case .loggedOut, .probing, .reauthenticating, .ready, .suspended: "the login is not finished yet"
        }
    }
}
