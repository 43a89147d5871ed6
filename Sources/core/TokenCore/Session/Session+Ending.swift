// SPDX-License-Identifier: MIT

import Text

extension Session {
    /// Ends the login and quarantines its refresh token.
    ///
    /// Waiting requests are settled and `login_required` is reported at once, unless a noninteractive login
    /// is tried first.
    ///
    /// - Parameters:
    ///   - reason: the reason, for programs.
    ///   - message: the reason, for the user.
    ///   - login: the login that was kept alive.
    ///   - probeAt: the time at which its refresh token is tried once more.
    ///   - remains: the secrets to keep, or `nil` if the policy and `probeAt` decide.
    ///   - remedy: the advice, if it is not to log in to this session.
    ///   - moment: the current time.
    /// - Returns: the effects to execute.
    mutating func end(
        _ reason: EndReason,
        _ message: String,
        _ login: Login,
        probeAt: Instant?,
        keeping remains: SecretRetention? = nil,
        remedy: Remedy? = nil,
        at moment: Moment
    ) -> [Effect] {
        var ended = EndedLogin(
            reason: reason,
            message: message,
            remedy: remedy,
            at: moment.wallTime,
            afterlife: .quarantined(login, erasedAt: moment.now + RetrySchedule.quarantine, probeAt: probeAt)
        )
        let held = heldSecrets
        ended.reduce(to: remains ?? self.remains(probeAt: probeAt))
        guard reason.consequences.allowsNoninteractiveLogin, !policy.noninteractiveLogins.isEmpty,
            progress == nil
        else {
            become(.loggedOut(ended))
            return recordEnd(ended, at: moment) + announce(ended, at: moment)
                + erase(held.subtracting(heldSecrets))
        }
        let attempt = logInNoninteractively(ended, account: login.account)
        return recordEnd(ended, at: moment) + erase(held.subtracting(heldSecrets)) + attempt
    }

    /// Begins a noninteractive login.
    private mutating func logInNoninteractively(_ ended: EndedLogin, account: String?) -> [Effect] {
        let number = nextNoninteractiveLogin()
        become(.reauthenticating(ended, number))
        return [.reauthenticate(number, policy.noninteractiveLogins, account: account)]
    }

    /// Retries the noninteractive login, unless the user is logging in.
    mutating func retryNoninteractiveLogin(_ ended: EndedLogin) -> [Effect] {
        guard case .quarantined(let login, _, _) = ended.afterlife, !policy.noninteractiveLogins.isEmpty,
            progress == nil
        else {
            var ended = ended
            ended.noninteractiveRetry = nil
            become(.loggedOut(ended))
            return []
        }
        return logInNoninteractively(ended, account: login.account)
    }

    /// Returns the secrets to keep.
    ///
    /// If tokens end with the login, a last attempt may still need them.
    func remains(probeAt: Instant?) -> SecretRetention {
        policy.tokensOutliveLogin || probeAt != nil ? .everything : .refreshToken
    }

    /// Settles waiting requests and reports that only the user can help now.
    private mutating func announce(_ ended: EndedLogin, at moment: Moment) -> [Effect] {
        let event = SessionEvent(.loginRequired, reason: ended.reason.rawValue, message: ended.message)
        return settleAll(loginRequired, at: moment.now) + [.notify(event)]
    }

    /// Ends the noninteractive login after one worked or all failed.
    package mutating func noninteractiveLoginFinished(
        _ number: LoginNumber,
        _ outcome: LoginOutcome,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        guard case .reauthenticating(var ended, number) = state else { return discard(outcome) }
        switch outcome {
        case .granted(let grant):
            return accept(grant, number, jitter: jitter, at: moment)
        case .failed(let failure):
            history.failed(failure, for: nil, at: moment)
            let former = ended.noninteractiveRetry
            let (cause, failures) = (former?.cause ?? ended.message, (former?.failures ?? 0) + 1)
            ended.message = "\(cause); logging in again failed: \(failure.message)"
            ended.noninteractiveRetry =
                failure.kind.consequences.prospect == .soon
                ? NoninteractiveLoginRetry(
                    at: moment.now + RetrySchedule.helperPause(after: failures),
                    failures: failures,
                    cause: cause
                )
                : nil
            let held = heldSecrets
            ended.reduce(to: .refreshToken)
            become(.loggedOut(ended))
            // The user is notified once.
            let told = former == nil ? announce(ended, at: moment) : settleAll(loginRequired, at: moment.now)
            return recordEnd(ended, at: moment) + told + erase(held.subtracting(heldSecrets))
        case .cancelled:
            become(.loggedOut(ended))
            return announce(ended, at: moment)
        }
    }

    /// Abandons the noninteractive login because the user logs in.
    ///
    /// Its result will be late.
    mutating func abandonNoninteractiveLogin(at moment: Moment) -> [Effect] {
        guard case .reauthenticating(let ended, _) = state else { return [] }
        become(.loggedOut(ended))
        return settleAll(loginRequired, at: moment.now)
    }

    /// Plans a retry of an unsent request after `delay`, because the network returned or the machine woke up.
    package mutating func networkReturned(delay: Duration, at moment: Moment) -> [Effect] {
        guard case .retrying(let login, var setback) = state, setback.consequences.yieldsToRequests else {
            return []
        }
        setback.nextTry = min(setback.nextTry, moment.now + delay)
        setback.failures = 0
        setback.reason = .networkBack
        become(.retrying(login, setback))
        return []
    }

    private mutating func recordEnd(_ ended: EndedLogin, at moment: Moment) -> [Effect] {
        guard case .quarantined = ended.afterlife, let snapshot = ended.snapshot(at: moment) else {
            return []
        }
        return [.commit(nextCommit(), snapshot)]
    }

    /// Sends the quarantined refresh token once more, in the background.
    mutating func probe(_ ended: EndedLogin, _ login: Login, at moment: Moment) -> [Effect] {
        let attempt = makeAttempt(.primary, login, setback: nil, reason: .due, at: moment.now)
        become(.probing(ended, login, attempt))
        return begin(attempt)
    }

    /// Stays logged out after a failed probe, and plans another only where it can help.
    ///
    /// The server confirmed its rejection, or could not be reached.
    mutating func probeFailed(
        _ failure: RefreshFailure,
        _ ended: EndedLogin,
        _ login: Login,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        guard case .quarantined(_, let erasedAt, _) = ended.afterlife else { return [] }
        var ended = ended
        let former = failure.kind.consequences.prospect == .soon ? nil : login.withFormerRefreshToken
        let login = former ?? login
        let probeAt: Instant? =
            switch failure.kind.consequences.prospect {
            case .never where former != nil: moment.now + RetrySchedule.confirmationDelay(jitter: jitter)
            case .never: nil
            case .hourly,
                .soon where ended.reason.consequences.isAskedAgain:
                moment.now + RetrySchedule.unexplainedRetry
            case .soon: moment.now + RetrySchedule.confirmationDelay(jitter: jitter)
            }
        ended.afterlife = .quarantined(login, erasedAt: erasedAt, probeAt: probeAt)
        let held = heldSecrets
        let isFinal = failure.kind == .sessionOver && former == nil
        ended.reduce(to: isFinal ? .nothing : remains(probeAt: probeAt))
        become(.loggedOut(ended))
        return recordEnd(ended, at: moment) + erase(held.subtracting(heldSecrets))
    }

    /// Ends the login because the settings that name the tokens' source have changed.
    ///
    /// The old tokens must not be used with the new settings.
    package mutating func registrationChanged(at moment: Moment) -> [Effect] {
        if policy.startsByItself, !isAdopting, login?.renewal == .withoutLogin || isServedAfterItsEnd {
            return restart(at: moment)
        }
        guard let login else { return [] }
        let message = "the session's issuer or client settings have changed"
        return end(.configurationChanged, message, login, probeAt: nil, at: moment)
    }

    /// Ends the session because a resource server said that it is over.
    ///
    /// Its tokens are no longer served.
    package mutating func endReported(_ message: String, at moment: Moment) -> [Effect] {
        guard let login, login.renewal != .withoutLogin else { return [] }
        return end(.grantDead, message, login, probeAt: nil, keeping: .refreshToken, at: moment)
    }

    /// Changes the timing settings.
    package mutating func policyChanged(_ policy: SessionPolicy) {
        self.policy = policy
    }

    /// Retries after the client's secret was given.
    ///
    /// Failures without it do not count for a new session.
    package mutating func secretGiven(at moment: Moment) -> [Effect] {
        if history.refreshes == 0 { history = RefreshHistory() }
        return retryAllowed(at: moment)
    }

    /// Retries a suspended session after the configuration was reloaded or the client's secret was given.
    package mutating func retryAllowed(at moment: Moment) -> [Effect] {
        if case .retrying(let login, let setback) = state, setback.latest.kind == .helperFailed {
            return start(.primary, login, setback: setback, reason: .person, at: moment)
        }
        guard case .suspended(var login, _) = state else { return [] }
        login.refusals = [:]
        // The reason may be gone with the old configuration.
        become(.ready(login))
        return start(.primary, login, setback: nil, reason: .person, at: moment)
    }
}
