// SPDX-License-Identifier: MIT

extension Session {
    /// A token is asked for.
    ///
    /// A token with enough life left is the answer at once, whatever else goes on. Otherwise the request joins
    /// the one refresh of its variant.
    package mutating func tokenRequested(
        by waiter: WaiterID,
        _ need: TokenRequirements,
        at moment: Moment
    ) -> [Effect] {
        resolveTokenTrials(need, at: moment.now)
        if let token = adequateToken(for: need, at: moment.now) {
            variantUse.noteUse(of: need.variant, at: moment.now)
            return [.reply(waiter, .token(token))] + startIfDue(need.variant, at: moment)
        }
        if let failure = immediateFailure(for: need, at: moment.now) {
            return [
                .reply(waiter, lastResort(for: need, at: moment.now).map(Reply.token) ?? .failure(failure))
            ]
        }
        waiters.add(waiter, Waiters.Waiter(need: need))
        let wanted = need.isForeign ? nextWanted(at: moment.now) : need.variant
        return advance(wanting: wanted, at: moment) + answerNonWaitingRequests(at: moment.now)
    }

    /// The answer to every request that asks for nothing but a token, as long as the ``revision`` stays the same.
    ///
    /// - Returns: `nil` if each request has to be decided, because it may change something.
    package func cachedToken(at now: Instant) -> CachedToken? {
        if let login, login.tokens.values.contains(where: { $0.standing.isInDoubt }) { return nil }
        guard let token = adequateToken(for: TokenRequirements(deadline: now), at: now) else { return nil }
        var ends: [Instant] = []
        if let expiresAt = token.expiresAt {
            ends.append(
                expiresAt - leastLife(of: token.life, for: TokenRequirements(deadline: now)) + .nanoseconds(1)
            )
        }
        if case .ready(let login) = state, let due = dueTime(of: login) { ends.append(due) }
        let until = ends.min() ?? Instant(nanoseconds: .max)
        return until > now ? CachedToken(token: token, until: until) : nil
    }

    /// Whether `need` can be met at once; asking changes nothing.
    package func meets(_ need: TokenRequirements, at now: Instant) -> Bool {
        adequateToken(for: need, at: now) != nil
    }

    /// The token that `need` can be met with without waiting, if only for its last seconds; asking changes nothing.
    package func token(for need: TokenRequirements, at now: Instant) -> AccessToken? {
        adequateToken(for: need, at: now) ?? lastResort(for: need, at: now)
    }

    /// What to refresh first for those who wait: what the owner's programs want, then the login's own token
    /// if it is due, then what was asked for through a `[[socket]]`; `nil`: nobody waits.
    func nextWanted(at now: Instant) -> TokenVariant? {
        if let own = waiters.nextVariant(isForeign: false) { return own }
        guard let foreign = waiters.nextVariant(isForeign: true) else { return nil }
        if let login, let due = dueTime(of: login), due <= now { return .primary }
        return foreign
    }

    /// The attempt under way is only for requests through a `[[socket]]`, and not for the login's own token.
    package var isForeignAttempt: Bool {
        guard let variant = currentAttempt?.variant, variant != .primary else { return false }
        return waiters.areForeign(for: variant)
    }

    /// Nothing is under way and nothing has failed: a token that is asked for is requested at once.
    package var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// New tokens can be had without logging in again.
    package var canRefresh: Bool { login.map { $0.renewal != .impossible } ?? policy.startsByItself }

    /// One of the owner's programs waits.
    package var isDemanded: Bool { waiters.nextVariant(isForeign: false) != nil }

    /// The requester left; what it started goes on for the others.
    package mutating func requestWithdrawn(by waiter: WaiterID) -> [Effect] {
        _ = waiters.remove(waiter)
        return []
    }

    /// A new token is asked for although the present one may be good.
    ///
    /// - Parameters:
    ///   - waiter: who asks.
    ///   - variant: which of the session's tokens is meant.
    ///   - rejected: a token that will not do; when the session already has another one, that is the answer.
    ///     `nil`: refresh in any case.
    ///   - reason: why; by default because some server just refused the token, or without one because a person asked.
    ///   - deadline: when the requester gives up.
    ///   - moment: now.
    /// - Returns: what to do.
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
            variantUse.noteUse(of: variant, at: moment.now)
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
            // Its token is good all the same, unless a server has refused it.
            let failure = rejected == nil && usableToken(variant) != nil ? notRefreshable : loginRequired
            return [.reply(waiter, .failure(failure))]
        }
        if let failure = readerFailure(step(toward: variant, at: moment.now), login) {
            return [.reply(waiter, .failure(failure))]
        }
        if rejected != nil, let failure = heldBack(variant, at: moment.now) {
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
            // A person may always start one; a report of a refusal may not soon after a try, nor while the
            // server asked for a pause.
            let mayStart =
                rejected == nil || setback.latest.retryAfter == nil && canRetryEarly(at: moment.now)
            guard mayStart else { return answerNonWaitingRequests(at: moment.now) }
            return start(variant, login, setback: setback, reason: reason, at: moment)
        case .refreshing: return failDeniedRequests()
        case .probing, .loggedOut, .reauthenticating: return []
        }
    }

    /// What callers are told of a mistake that only a person can correct.
    func misconfigured(by failure: RefreshFailure) -> ServingFailure {
        .misconfigured(message: failure.message, remedy: failure.correction(of: name))
    }

    /// Why the server did not give a token of `variant`, as long as it is not asked again; `nil`: it has not refused one.
    package func refusal(of variant: TokenVariant, at now: Instant) -> String? {
        login?.refusals[variant].flatMap { $0.until > now ? $0.message : nil }
    }

    /// What callers are told of a token that the server did not give.
    func misconfigured(by refusal: Login.Refusal) -> ServingFailure {
        let failure = RefreshFailure(kind: .misconfigured, message: refusal.message)
        return .misconfigured(
            message: refusal.message,
            remedy: refusal.remedy ?? failure.correction(of: name)
        )
    }

    /// Why `need` cannot be met now or by waiting; `nil`: it waits.
    private func immediateFailure(for need: TokenRequirements, at now: Instant) -> ServingFailure? {
        guard let login else { return isReauthenticating || mayStart(at: now) ? nil : loginRequired }
        if let refusal = login.refusals[need.variant], refusal.until > now {
            return misconfigured(by: refusal)
        }
        if case .suspended(_, let suspension) = state {
            return misconfigured(by: suspension.failure)
        }
        let step = step(toward: need.variant, at: now)
        if login.renewal == .impossible, !isDerived(step) { return lacking(need, login) }
        if let failure = readerFailure(step, login) { return failure }
        if let failure = heldBack(step, at: now),
            let token = login.tokens[step], token.replaceableAt >= need.deadline
        {
            return failure
        }
        guard currentAttempt == nil else { return nil }
        return recentRefreshFailure(need, login, at: now)
    }

    /// What the server just could not give: asking again would be a request storm.
    ///
    /// For an ID token that none has come after, or that had ended when it came, that is so until the access token beside
    /// it is due.
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
                let wasEnough = life.lasts(leastLife(of: life, for: need), from: token.obtainedAt)
                let isGood = meets(TokenRequirements(variant: need.variant, deadline: now), at: now)
                return wasEnough || !isGood ? nil : notRenewed(life, for: need)
            }
        }
        let least = need.minimumValidity ?? (need.wantsIDToken ? .nanoseconds(1) : .zero)
        guard isNew, let lifetime = life.lifetime, least >= lifetime else { return nil }
        return .validityUnattainable(lifetime: lifetime)
    }

    /// Why `token`, which has just come, is not given to whom it is not enough; `nil`: it is given all the same.
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
                return isLeft ? nil : notRenewed(life, for: need)
            }
        }
        let isEnded = need.wantsIDToken && !life.lasts(.nanoseconds(1), from: now)
        guard need.minimumValidity != nil || isEnded else { return nil }
        return life.lifetime.map { .validityUnattainable(lifetime: $0) }
    }

    /// What those are told whom an ID token with this life is not enough, where the refresh has brought no better one.
    private func notRenewed(_ life: TokenValidity, for need: TokenRequirements) -> ServingFailure {
        // One that had ended when it came says nothing of how long others live.
        if let minimum = need.minimumValidity, let lifetime = life.lifetime, lifetime > .zero,
            minimum > lifetime
        {
            return .validityUnattainable(lifetime: lifetime)
        }
        return .idTokenNotRenewed(remedy: loginElsewhere)
    }

    /// Whether the ID token of `variant` has ended, and the server brought no better one when it was asked.
    package func isIDTokenExpired(of variant: TokenVariant, at now: Instant) -> Bool {
        let need = TokenRequirements(variant: variant, wantsIDToken: true, deadline: now)
        guard let login, token(for: need, at: now) == nil else { return false }
        if case .idTokenNotRenewed = recentRefreshFailure(need, login, at: now) { return true }
        return false
    }

    /// Why a login that cannot be refreshed does not meet `need`.
    private func lacking(_ need: TokenRequirements, _ login: Login) -> ServingFailure {
        let isMissed = need.wantsIDToken && usableToken(need.variant).map { $0.idToken == nil } ?? false
        return isMissed ? .noIDToken : loginRequired
    }

    private var isReauthenticating: Bool {
        if case .reauthenticating = state { true } else { false }
    }

    /// The token of `variant` unless a server has refused it.
    func usableToken(_ variant: TokenVariant) -> AccessToken? {
        servable?.tokens[variant].flatMap { $0.isRefused ? nil : $0 }
    }

    /// A token that meets `need`.
    func adequateToken(for need: TokenRequirements, at now: Instant) -> AccessToken? {
        guard !need.wantsLiveLogin || login != nil, let token = usableToken(need.variant),
            !need.wantsIDToken || token.idToken != nil, isServed(token, to: need)
        else { return nil }
        let life = token.life(isID: need.wantsIDToken)
        return life.lasts(leastLife(of: life, for: need), from: now) ? token : nil
    }

    /// How much must be left of `life` to meet `need`; something, even if nobody asks for any.
    private func leastLife(of life: TokenValidity, for need: TokenRequirements) -> Duration {
        let least = RefreshSchedule.requiredValidity(
            of: life,
            minimum: need.minimumValidity,
            policy: policy.of(need.variant)
        )
        return max(least, .nanoseconds(1))
    }

    /// Whether `token` may be served: one in doubt is renewed instead, if a live login can do that.
    private func isServed(_ token: AccessToken, to need: TokenRequirements) -> Bool {
        switch token.standing {
        case .good: true
        case .doubtful: login == nil
        case .onTrial: login == nil || need.reportsRefusals
        // A token that this host cannot refresh is served while its own claims allow it (``TokenValidity/statedEnd``).
        case .possiblyExpired:
            login.map { $0.renewal == .byKeepers || !isRenewed(need.variant, $0) } ?? true
        case .refused: false
        }
    }

    /// A token with at least a second left, for a requester that named no minimum.
    ///
    /// Credentials of a role are never handed out like that: an SDK uses them until they end.
    func lastResort(for need: TokenRequirements, at now: Instant) -> AccessToken? {
        guard need.minimumValidity == nil, !policy.roles.include(need.variant),
            !need.wantsLiveLogin || login != nil,
            let token = usableToken(need.variant), !need.wantsIDToken || token.idToken != nil
        else { return nil }
        return token.life(isID: need.wantsIDToken).lasts(.seconds(1), from: now) ? token : nil
    }

    /// Answers the requests that do not wait, or for which waiting makes no sense.
    private mutating func answerNonWaitingRequests(at now: Instant) -> [Effect] {
        guard case .retrying(_, let setback) = state else {
            return failDeniedRequests() + failOverdueRequests(at: now)
        }
        return answerAfterFailure(setback, at: now)
    }

    /// Answers the requests that gave up waiting.
    mutating func failOverdueRequests(at now: Instant) -> [Effect] {
        guard let earliest = waiters.earliestDeadline, earliest <= now else { return [] }
        let failure = ServingFailure.temporarilyUnavailable(
            message: waitingMessage,
            retryAfter: max(.seconds(1), (nextTry ?? now) - now)
        )
        let session = self
        return waiters.answer { waiter in
            guard waiter.need.deadline <= now else { return nil }
            guard waiter.newerThan == nil, let token = session.lastResort(for: waiter.need, at: now) else {
                return .failure(failure)
            }
            return .token(token)
        }
    }

    /// Answers the requests that the present tokens satisfy; `fresh` has just come, so nobody waits for a
    /// better one.
    ///
    /// `isAdopted`: another host got it, and its time is that of another clock; to this host it is new.
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
            if token.isRefused { return session.heldBack(waiter.need.variant, at: now).map(Reply.failure) }
            return session.validityFailure(of: token, for: waiter.need, at: now).map(Reply.failure)
                ?? .token(token)
        }
    }

    /// Answers the requests for `variant` (all of them if `nil`) with `failure`, or with what is left to serve.
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

    /// What brings back a login that is over, where that is not a login to this session at this host.
    func substitute(for ended: EndedLogin) -> String? {
        if policy.isShared, ended.isHereAlone { return SessionPolicy.rejoining(name) }
        return ended.remedy ?? loginElsewhere
    }

    private var notRefreshable: ServingFailure {
        .notRefreshable(
            message: "\(Session.noRefreshTokenMessage), so this session cannot be refreshed",
            remedy: loginElsewhere
        )
    }

    private var loginElsewhere: String? { policy.loginElsewhere(to: name) }

    static let noRefreshTokenMessage = "the issuer gave no refresh token"

    private var nextTry: Instant? {
        guard case .retrying(_, let setback) = state else { return nil }
        return setback.nextTry
    }

    private var silenceMessage: String {
        policy.isReader
            ? "no keeper of the fleet has refreshed it yet: tokenctl fleet status tells which hosts are there"
            : "no answer has come yet"
    }

    private var waitingMessage: String {
        switch state {
        case .retrying(_, let setback): setback.latest.message
        case .refreshing(_, let attempt): attempt.setback?.latest.message ?? silenceMessage
        case .loggedOut, .probing, .reauthenticating, .ready, .suspended: "the login has not finished yet"
        }
    }
}
