// SPDX-License-Identifier: MIT

extension Session {
    /// Logs out: removes the session here at once, and revokes it at the server unless `local`.
    ///
    /// A refresh in flight cannot bring the session back. Its response is late and will be revoked.
    package mutating func logoutRequested(local: Bool, at moment: Moment) -> [Effect] {
        let interrupted = interruptLogin()
        let held = heldSecrets
        let leaving = revocable
        let message = "logged out by the user"
        var ended = EndedLogin(reason: .loggedOut, message: message, at: moment.wallTime, afterlife: .none)
        ended.isHereAlone = local && policy.isShared
        become(.loggedOut(ended))
        storage = StorageHealth()
        let told = interrupted + settleAll(loginRequired, at: moment.now)
        guard let leaving, !local else {
            let result = local ? LogoutReply.local : .nothingToRevoke
            return told + [.forget] + erase(held) + [
                .notify(SessionEvent(.loggedOut)), .finishLogout(result),
            ]
        }
        return told + beginRevoking(leaving, message, at: moment) + erase(held.subtracting(leaving.secrets))
            + [.notify(SessionEvent(.loggedOut))]
    }

    /// Ends the active login, and revokes tokens that it already has.
    private mutating func interruptLogin() -> [Effect] {
        guard let interrupted = progress else { return [] }
        progress = nil
        let told = Effect.finishLogin(interrupted.number, .superseded)
        guard case .committing(_, let login, _) = interrupted else { return [told] }
        return [told, .discard(Session.revocationRequest(for: login))]
    }

    /// Keeps the record of the logout and the tokens until they are revoked.
    private mutating func beginRevoking(_ login: Login, _ message: String, at moment: Moment) -> [Effect] {
        let request = Session.revocationRequest(for: login)
        let givenUpAt = moment.now + RetrySchedule.revocationPersistence
        let ended = EndedLogin(
            reason: .loggedOut,
            message: message,
            at: moment.wallTime,
            afterlife: .revoking(login, request, retryAt: nil, failures: 0, givenUpAt: givenUpAt)
        )
        become(.loggedOut(ended))
        let record = ended.snapshot(at: moment).map { [Effect.commit(nextCommit(), $0)] } ?? []
        return record + [.revoke(request)]
    }

    /// Processes the result of a revocation.
    package mutating func revocationFinished(
        _ request: RevocationRequest,
        _ outcome: RevocationOutcome,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        // The result is of an earlier logout and says nothing about the tokens of a later one.
        if case .loggedOut(let ended) = state, case .revoking(_, let present, _, _, _) = ended.afterlife,
            present != request
        {
            return []
        }
        return revocationFinished(outcome, jitter: jitter, at: moment)
    }

    /// Processes the result of the current logout's revocation.
    mutating func revocationFinished(
        _ outcome: RevocationOutcome,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        guard case .loggedOut(var ended) = state else {
            // The user has logged in again since, and the requester of the logout is still waiting.
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
            become(.loggedOut(ended))
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
        become(.loggedOut(ended))
        return [.finishLogout(.notYetRevoked(message: failure.message))] + startIfWanted(at: moment)
    }

    /// The login to revoke at a logout: a live one, an ended one, or one whose response is being stored.
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
        RevocationRequest(
            refreshToken: login.renewal.refreshToken,
            accessToken: login.primary?.secret,
            // Without a login of a user there is none to end at the issuer.
            idToken: login.renewal == .withoutLogin ? nil : login.primary?.idToken?.secret,
            tokenEndpoint: login.tokenEndpoint.isEmpty ? nil : login.tokenEndpoint,
            server: login.server,
            settings: login.madeOf
        )
    }

    /// Returns the logout result for a final outcome.
    ///
    /// `.failed` is final when the time is over.
    private func result(of outcome: RevocationOutcome) -> LogoutReply {
        switch outcome {
        case .revoked: .revoked
        case .nothing: .nothingToRevoke
        case .unsupported(let message): .unsupported(message: message)
        case .refused(let failure): .refused(message: failure.message)
        case .failed(let failure): .refused(message: "given up after a day: \(failure.message)")
        }
    }

    /// Reports tokens that remain valid, and those that were revoked after the requester had stopped waiting.
    private func notice(of result: LogoutReply, afterTries failures: Int) -> [Effect] {
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

extension EndedLogin.RemainingUse {
    fileprivate var revocable: Login? {
        switch self {
        case .none: nil
        case .quarantined(let login, _, _), .revoking(let login, _, _, _, _): login
        }
    }
}

extension RevocationRequest {
    /// Creates the request to revoke the tokens of a record without a session.
    package init(ending snapshot: SessionSnapshot) {
        self.init(
            refreshToken: snapshot.renewal.refreshToken,
            accessToken: snapshot.tokens[.primary]?.secret,
            tokenEndpoint: snapshot.tokenEndpoint.isEmpty ? nil : snapshot.tokenEndpoint,
            server: snapshot.server,
            settings: snapshot.madeOf
        )
    }
}
