// SPDX-License-Identifier: MIT

import Text

extension Session {
    /// The failure of a configured program or file that prevents refreshes, or `nil` if there is none.
    package var helperFailure: RefreshFailure? {
        if case .retrying(_, let setback) = state, setback.latest.kind == .helperFailed {
            return setback.latest
        }
        if case .suspended(_, let suspension) = state, suspension.failure.kind == .credentialRejected {
            return suspension.failure
        }
        return nil
    }

    /// Handles an attempt that brought no tokens: keeps everything, and plans as the class of the failure
    /// requires.
    mutating func attemptFailed(
        _ failure: RefreshFailure,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        history.failed(failure, for: currentAttempt?.reason, at: moment)
        switch state {
        case .refreshing(var login, let attempt):
            if attempt.usesRefreshToken { login.use = use(after: failure.kind, of: attempt) }
            login.interruptions = 0
            let isLost = attempt.isReplay && failure.kind == .grantDead && attempt.refusal == nil
            return isLost && !policy.isShared
                ? end(.replyLost, Session.replyLostMessage, login, probeAt: nil, at: moment)
                : refreshFailed(failure, attempt, login, jitter: jitter, at: moment)
        case .probing(let ended, var login, let attempt):
            login.use = use(after: failure.kind, of: attempt)
            login.interruptions = 0
            return probeFailed(failure, ended, login, jitter: jitter, at: moment)
        case .loggedOut, .reauthenticating, .ready, .retrying, .suspended:
            return []
        }
    }

    /// Postpones an attempt that has sent nothing until `nextTry`.
    ///
    /// The issuer requested the delay, perhaps in a response to another session.
    ///
    /// - Parameters:
    ///   - number: the number of the attempt.
    ///   - nextTry: the time of the next attempt.
    ///   - failure: another reason for the delay, or `nil` for the issuer's request.
    ///   - moment: the current time.
    /// - Returns: the effects to execute.
    package mutating func attemptPostponed(
        _ number: AttemptNumber,
        until nextTry: Instant,
        because failure: RefreshFailure? = nil,
        at moment: Moment
    ) -> [Effect] {
        guard case .refreshing(let login, let attempt) = state, attempt.number == number else { return [] }
        let latest =
            failure
            ?? RefreshFailure(
                kind: .busy,
                message: "rate limited by the authorization server",
                retryAfter: nextTry - moment.now
            )
        var setback = attempt.setback ?? RetryState(reason: attempt.reason, latest: latest, nextTry: nextTry)
        setback.reason = attempt.reason
        setback.latest = latest
        setback.nextTry = nextTry
        become(.retrying(login, setback))
        return answerAfterFailure(setback, at: moment.now)
    }

    private static let replyLostMessage =
        "refresh response lost, and the old refresh token is no longer valid"

    /// Returns the known use of the refresh token after this failure.
    private func use(after kind: FailureClass, of attempt: Attempt) -> Login.RefreshTokenSendState {
        // The response contained another refresh token.
        if attempt.refusal != nil { return .unsent }
        if attempt.isReplay { return .unanswered }
        switch kind.consequences.tokenUse {
        case .unanswered: return .unanswered
        case .unsent: return attempt.isFirstUse ? .unsent : .answered
        case .answered: return .answered
        }
    }

    private mutating func refreshFailed(
        _ failure: RefreshFailure,
        _ attempt: Attempt,
        _ login: Login,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        if isDerived(attempt.variant) {
            return roleCredentialsFailed(failure, attempt, login, jitter: jitter, at: moment)
        }
        switch failure.kind.consequences.verdict(hasRefreshed: login.hasRefreshed) {
        case .end where login.renewal == .withoutLogin, .endAndConfirm where login.renewal == .withoutLogin,
            .endUnlessConfirmed where login.renewal == .withoutLogin:
            // There is no login to lose, whatever the code says of one.
            return retryLater(failure, attempt, login, jitter: jitter, at: moment)
        case .end where policy.isShared, .endAndConfirm where policy.isShared,
            .endUnlessConfirmed where policy.isShared:
            // The fleet's record says when the login is over.
            return retryLater(failure, attempt, login, jitter: jitter, at: moment)
        case .endWithSource: return endWithSource(failure, login, at: moment)
        case .retry, .retryThenSuspend, .refuseSource:
            return retryLater(failure, attempt, login, jitter: jitter, at: moment)
        case .endAndConfirm(let reason):
            let probeAt = moment.now + RetrySchedule.confirmationDelay(jitter: jitter)
            return end(reason, failure.message, login, probeAt: probeAt, at: moment)
        case .endUnlessConfirmed(let reason):
            let probeAt =
                attempt.isFirstUse ? moment.now + RetrySchedule.confirmationDelay(jitter: jitter) : nil
            return end(reason, failure.message, login, probeAt: probeAt, at: moment)
        case .end(let reason, let remains):
            // The refresh token was read from a damaged response, so the one before it may be the right one.
            if failure.kind == .sessionOver, let former = login.withFormerRefreshToken {
                let probeAt = moment.now + RetrySchedule.confirmationDelay(jitter: jitter)
                return end(reason, failure.message, former, probeAt: probeAt, at: moment)
            }
            return end(reason, failure.message, login, probeAt: nil, keeping: remains, at: moment)
        case .refuseVariant where attempt.variant != .primary:
            return refuse(attempt.variant, failure, attempt, login, at: moment)
        case .suspend, .refuseVariant:
            return suspend(failure, attempt, login, jitter: jitter, at: moment)
        }
    }

    /// Handles a failure to obtain role credentials.
    ///
    /// The login itself remains valid.
    private mutating func roleCredentialsFailed(
        _ failure: RefreshFailure,
        _ attempt: Attempt,
        _ login: Login,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        switch failure.kind.consequences.verdict {
        case .retry, .retryThenSuspend, .end, .endAndConfirm, .endUnlessConfirmed, .endWithSource:
            return retryLater(failure, attempt, login, jitter: jitter, at: moment)
        case .suspend, .refuseVariant:
            return refuse(attempt.variant, failure, attempt, login, at: moment)
        case .refuseSource: return replaceOwnToken(failure, attempt, login, at: moment)
        }
    }

    /// Replaces the login's own token, which the server rejected as the source of another.
    private mutating func replaceOwnToken(
        _ failure: RefreshFailure,
        _ attempt: Attempt,
        _ login: Login,
        at moment: Moment
    ) -> [Effect] {
        var login = login
        if let own = login.primary?.secret { login.refuse(own, nil, at: moment.now) }
        become(.ready(login))
        storage.owe(at: moment.now)
        guard login.renewal != .impossible else {
            let message = Session.noRefreshTokenMessage + ", and the server rejected the access token"
            return end(.noRefreshToken, message, login, probeAt: nil, keeping: .refreshToken, at: moment)
        }
        var told: [Effect] = [.notify(SessionEvent(failure, of: attempt.reason))]
        if let failure = replacementDelay(.primary, at: moment.now) {
            told += settleAll(failure, variant: attempt.variant, at: moment.now)
        }
        return told + advance(wanting: nextWanted(at: moment.now), at: moment)
    }

    private mutating func retryLater(
        _ failure: RefreshFailure,
        _ attempt: Attempt,
        _ login: Login,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        let own = login.primary
        let setback = RetryState.following(
            attempt.setback,
            failure,
            of: attempt.reason,
            RetryState.Circumstances(
                tokenExpiresAt: login.tokenExpiresAt,
                servedUntil: own?.isRefused == true
                    ? nil : [own?.expiresAt, own?.statedEnd].compactMap(\.self).min(),
                loginEnd: login.knownEnd,
                isAboutLogin: attempt.variant == .primary
                    && (attempt.usesRefreshToken || login.renewal == .withoutLogin),
                isRefusal: isRefusal(failure.kind, of: login),
                startedAt: attempt.startedAt,
                jitter: jitter,
                now: moment.now
            )
        )
        // A suspension for another cause, which is corrected, leaves the client its time.
        let wasRejected = attempt.suspension?.failure.kind == .clientRejected
        if wasRejected && failure.kind == .clientRejected || setback.isClientRejected(at: moment.now),
            !isDerived(attempt.variant)
        {
            var failure = failure
            let why =
                "the client's secret or key is wrong or expired, or the server is being changed"
            failure.message = ServerText.cleaned("\(failure.message): \(why)")
            return suspend(failure, attempt, login, jitter: jitter, at: moment)
        }
        if attempt.usesRefreshToken, !policy.isShared, setback.refusals.isFinal(at: moment.now) {
            let probeAt = moment.now + RetrySchedule.unexplainedRetry
            return end(.refusedWithoutReason, failure.message, login, probeAt: probeAt, at: moment)
        }
        if login.renewal == .withoutLogin, isRefusal(failure.kind, of: login), attempt.variant == .primary,
            attempt.suspension.map({ isRefusal($0.failure.kind, of: login) }) == true
                || setback.refusals.isFinal(at: moment.now)
        {
            return suspend(failure, attempt, login, jitter: jitter, at: moment)
        }
        let told =
            release(attempt, login, after: failure.kind)
            + [.notify(SessionEvent(failure, of: attempt.reason))]
        // The cause still has to be corrected: this failure says nothing about it.
        if let suspension = attempt.suspension, login.renewal != .withoutLogin {
            let retryAt = max(setback.nextTry, moment.now + RetrySchedule.unconfirmedFixRetry)
            become(.suspended(login, RefreshSuspension(failure: suspension.failure, retryAt: retryAt)))
            let wait = retryAt - moment.now
            return told
                + settleAll(
                    .temporarilyUnavailable(message: failure.message, retryAfter: wait),
                    at: moment.now
                )
        }
        become(.retrying(login, setback))
        return told + answerAfterFailure(setback, at: moment.now)
    }

    /// Returns whether a failure counts as a refusal, several of which end a login or suspend a session without one.
    ///
    /// Without a login, a code for the end of one says no more than an unknown code.
    private func isRefusal(_ kind: FailureClass, of login: Login) -> Bool {
        if kind == .unexplained { return true }
        switch kind.consequences.verdict {
        case .end, .endAndConfirm, .endUnlessConfirmed: return login.renewal == .withoutLogin
        case .retry, .retryThenSuspend, .suspend, .refuseVariant, .endWithSource, .refuseSource: return false
        }
    }

    /// Responds to requests that need not wait: a token is left to serve, or the next attempt is too late.
    mutating func answerAfterFailure(_ setback: RetryState, at now: Instant) -> [Effect] {
        let session = self
        let failure =
            setback.consequences.isMistake
            ? misconfigured(by: setback.latest)
            : .temporarilyUnavailable(
                message: setback.latest.toldMessage,
                retryAfter: max(.seconds(1), setback.nextTry - now),
                remedy: setback.consequences.blamesClient ? setback.latest.remedy : nil
            )
        return waiters.answer { waiter in
            if waiter.newerThan == nil, let token = session.lastResort(for: waiter.need, at: now) {
                return .token(token)
            }
            let waits = setback.consequences.keepsWaiters && setback.nextTry < waiter.need.deadline
            return waits ? nil : .failure(failure)
        }
    }

    private mutating func suspend(
        _ failure: RefreshFailure,
        _ attempt: Attempt,
        _ login: Login,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        let delay = failure.kind.consequences.suspendedRetry
        var suspension = RefreshSuspension(failure: failure, retryAt: moment.now + delay)
        if failure.kind.consequences.awaitsPerson {
            suspension.retryAt = nil
        } else if login.renewal == .withoutLogin, failure.kind != .clientRejected {
            // The server, a file or a command may recover without any action at this session.
            suspension.failures = (attempt.suspension?.failures ?? attempt.setback?.failures ?? 0) + 1
            let cap = RetrySchedule.cap(tokenExpiresAt: login.tokenExpiresAt, now: moment.now)
            let delay = RetrySchedule.backoff(failures: suspension.failures, cap: cap, jitter: jitter)
            let least = failure.kind == .unexplained ? RetrySchedule.refusalPause : .zero
            suspension.retryAt = moment.now + max(delay, least, failure.retryAfter ?? .zero)
        }
        become(.suspended(login, suspension))
        return release(attempt, login, after: failure.kind)
            + [.notify(SessionEvent(failure, of: attempt.reason))]
            + settleAll(misconfigured(by: failure), at: moment.now)
    }

    /// Records that only this variant is unavailable.
    ///
    /// The login itself is valid.
    private mutating func refuse(
        _ variant: TokenVariant,
        _ failure: RefreshFailure,
        _ attempt: Attempt,
        _ login: Login,
        at moment: Moment
    ) -> [Effect] {
        var login = login
        let delay = isDerived(variant) ? RetrySchedule.refusedRoleRetry : RetrySchedule.suspendedRetry
        let refusal = Login.VariantRejection(
            message: failure.message,
            remedy: remedy(for: variant, rejectedWith: failure, login),
            until: moment.now + delay
        )
        login.refuse(refusal, of: variant, at: moment.now)
        become(.ready(login))
        return release(attempt, login, after: failure.kind)
            + settleAll(misconfigured(by: refusal), variant: variant, at: moment.now)
            + advance(wanting: nextWanted(at: moment.now), at: moment)
    }

    /// Returns the remedy for requesters of a variant that was rejected.
    ///
    /// A refresh can only narrow the scopes of a login (RFC 6749 §6). A failure without the server's code is of
    /// a kind of server that knows no variants.
    private func remedy(
        for variant: TokenVariant,
        rejectedWith failure: RefreshFailure,
        _ login: Login
    ) -> Remedy? {
        if isDerived(variant) || failure.remedy != nil { return failure.remedy }
        guard failure.code != nil else { return .run("tokenctl get \(name)") }
        guard variant.audience == nil, case .refreshToken = login.renewal else {
            return .retry("with scopes and an audience that the authorization server permits")
        }
        let scopes = variant.scopes.map(ShellWord.quoted).joined(separator: " --scope ")
        return .run("tokenctl login \(name) --scope \(scopes)")
    }

    private func release(_ attempt: Attempt, _ login: Login, after kind: FailureClass) -> [Effect] {
        guard attempt.usesRefreshToken, kind != .storage else { return [] }
        return [.release(attempt.number, answered: login.use != .unanswered)]
    }
}
