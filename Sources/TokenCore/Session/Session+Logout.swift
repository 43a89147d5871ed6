// SPDX-License-Identifier: MIT

extension Session {
    /// A person logs out: the session is gone here at once, and the server is told unless `local`.
    ///
    /// A refresh in flight cannot bring the session back: its answer is late and will be revoked.
    package mutating func logoutRequested(local: Bool, at moment: Moment) -> [Effect] {
        let interrupted = interruptLogin()
        let held = heldSecrets
        let leaving = revocable
        let message = "logged out by request"
        var ended = EndedLogin(reason: .loggedOut, message: message, at: moment.wallTime, afterlife: .none)
        ended.isHereAlone = local && policy.isShared
        state = .loggedOut(ended)
        storage = StorageHealth()
        let told = interrupted + settleAll(loginRequired, at: moment.now)
        guard let leaving, !local else {
            let result = local ? LogoutResult.local : .nothingToRevoke
            return told + [.forget] + erase(held) + [
                .notify(SessionEvent(.loggedOut)), .finishLogout(result),
            ]
        }
        return told + beginRevoking(leaving, message, at: moment) + erase(held.subtracting(leaving.secrets))
            + [.notify(SessionEvent(.loggedOut))]
    }

    /// Ends the login under way; tokens it already has are revoked.
    private mutating func interruptLogin() -> [Effect] {
        guard let interrupted = progress else { return [] }
        progress = nil
        let told = Effect.finishLogin(interrupted.number, .superseded)
        guard case .committing(_, let login, _) = interrupted else { return [told] }
        return [told, .discard(Session.revocationRequest(for: login))]
    }

    /// Keeps the tombstone and the tokens until the server has been told.
    private mutating func beginRevoking(_ login: Login, _ message: String, at moment: Moment) -> [Effect] {
        let request = Session.revocationRequest(for: login)
        let givenUpAt = moment.now + RetrySchedule.revocationPersistence
        let ended = EndedLogin(
            reason: .loggedOut,
            message: message,
            at: moment.wallTime,
            afterlife: .revoking(login, request, retryAt: nil, failures: 0, givenUpAt: givenUpAt)
        )
        state = .loggedOut(ended)
        let record = ended.snapshot(at: moment).map { [Effect.commit(nextCommit(), $0)] } ?? []
        return record + [.revoke(request)]
    }

    /// The server was told of `request`, or could not be.
    package mutating func revocationFinished(
        _ request: RevocationRequest,
        _ outcome: RevocationOutcome,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        // That of an earlier login, which a later logout has taken the place of, says nothing of the later one's tokens.
        if case .loggedOut(let ended) = state, case .revoking(_, let present, _, _, _) = ended.afterlife,
            present != request
        {
            return []
        }
        return revocationFinished(outcome, jitter: jitter, at: moment)
    }

    /// The server was told of the present logout's tokens, or could not be.
    mutating func revocationFinished(
        _ outcome: RevocationOutcome,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        guard case .loggedOut(var ended) = state else {
            // Somebody has logged in since, and whoever logged out waits all the same.
            guard case .failed(let failure) = outcome else { return [.finishLogout(result(of: outcome))] }
            return [.finishLogout(.refused(message: failure.message))]
        }
        guard case .revoking(let login, let request, _, let failures, let givenUpAt) = ended.afterlife else {
            return []
        }
        guard case .failed(let failure) = outcome, moment.now < givenUpAt else {
            let result = result(of: outcome)
            ended.afterlife = .none
            if let leftover = result.leftover { ended.message += "; \(leftover)" }
            state = .loggedOut(ended)
            return [.forget] + erase(login.secrets) + notice(of: result, afterTries: failures)
                + [.finishLogout(result)] + startIfWanted(at: moment)
        }
        let delay = RetrySchedule.backoff(failures: failures + 1, cap: .seconds(3600), jitter: jitter)
        ended.afterlife = .revoking(
            login,
            request,
            retryAt: min(givenUpAt, moment.now + max(delay, failure.retryAfter ?? .zero)),
            failures: failures + 1,
            givenUpAt: givenUpAt
        )
        state = .loggedOut(ended)
        return [.finishLogout(.notYetRevoked(message: failure.message))] + startIfWanted(at: moment)
    }

    /// What a logout should revoke: a login that stands, one that ended, or one whose answer is being stored.
    var revocable: Login? {
        switch state {
        case .ready(let login), .retrying(let login, _), .suspended(let login, _): login
        case .refreshing(let login, let attempt):
            if case .committing(_, let renewed, _) = attempt.phase { renewed } else { login }
        case .probing(_, let login, _): login
        case .loggedOut(let ended), .reauthenticating(let ended, _): ended.afterlife.revocable
        }
    }

    static func revocationRequest(for login: Login) -> RevocationRequest {
        let refreshToken: SecretID? =
            if case .refreshToken(let secret) = login.renewal { secret } else { nil }
        return RevocationRequest(
            refreshToken: refreshToken,
            accessToken: login.primary?.secret,
            // Without a login of a person there is none to end.
            idToken: login.renewal == .anew ? nil : login.primary?.idToken?.secret,
            tokenEndpoint: login.tokenEndpoint.isEmpty ? nil : login.tokenEndpoint,
            server: login.server,
            settings: login.madeOf
        )
    }

    /// What a final outcome means for those who asked; `.failed` is final when the time is over.
    private func result(of outcome: RevocationOutcome) -> LogoutResult {
        switch outcome {
        case .revoked: .revoked
        case .nothing: .nothingToRevoke
        case .unsupported(let message): .unsupported(message: message)
        case .refused(let failure): .refused(message: failure.message)
        case .failed(let failure): .refused(message: "given up after a day: \(failure.message)")
        }
    }

    /// Tells of tokens that go on working, and of those revoked when nobody waited any more.
    private func notice(of result: LogoutResult, afterTries failures: Int) -> [Effect] {
        if let leftover = result.leftover {
            return [.notify(SessionEvent(.loggedOut, reason: "not_revoked", message: leftover))]
        }
        guard failures > 0, result == .revoked else { return [] }
        return [.notify(SessionEvent(.loggedOut, reason: "revoked"))]
    }

    func erase(_ secrets: Set<SecretID>) -> [Effect] {
        secrets.sorted { $0.rawValue < $1.rawValue }.map(Effect.erase)
    }
}

extension EndedLogin.Disposition {
    fileprivate var revocable: Login? {
        switch self {
        case .none: nil
        case .quarantined(let login, _, _), .revoking(let login, _, _, _, _): login
        }
    }
}

extension RevocationRequest {
    /// What ends the tokens of a record that no session has.
    package init(ending snapshot: SessionSnapshot) {
        let refreshToken: SecretID? =
            if case .refreshToken(let secret) = snapshot.renewal { secret } else { nil }
        self.init(
            refreshToken: refreshToken,
            accessToken: snapshot.tokens[.primary]?.secret,
            tokenEndpoint: snapshot.tokenEndpoint.isEmpty ? nil : snapshot.tokenEndpoint,
            server: snapshot.server,
            settings: snapshot.madeOf
        )
    }
}
