// SPDX-License-Identifier: MIT

extension Session {
    /// Begins a login.
    ///
    /// It supersedes a login that the user has not finished, and is superseded by one that is being made
    /// durable.
    package mutating func loginStarted(_ number: LoginNumber, at moment: Moment) -> [Effect] {
        guard !isAdopting else { return [.finishLogin(number, .superseded)] }
        let superseded = progress.map { [Effect.finishLogin($0.number, .superseded)] } ?? []
        progress = .conversing(number)
        return superseded + abandonNoninteractiveLogin(at: moment)
    }

    /// Ends a login.
    ///
    /// Its tokens become the session's when they are durable.
    package mutating func loginFinished(
        _ number: LoginNumber,
        _ outcome: LoginOutcome,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        guard progress == .conversing(number) else { return discard(outcome) }
        progress = nil
        switch outcome {
        case .granted(let grant):
            history.heard(serverClockAhead: grant.tokens.serverClockAhead)
            return accept(grant, number, jitter: jitter, at: moment)
        case .failed(let failure):
            return [.finishLogin(number, .failed(failure))]
        case .cancelled:
            return [.finishLogin(number, .cancelled)]
        }
    }

    /// Makes a granted login durable.
    ///
    /// Then it becomes the session's.
    mutating func accept(
        _ grant: LoginGrant,
        _ number: LoginNumber,
        jitter: Double,
        at moment: Moment
    ) -> [Effect] {
        var login = Login(grant, jitter: jitter, at: moment)
        login.madeOf = policy.madeOf
        let commit = nextCommit()
        progress = .committing(number, login, commit)
        abandonAttempt()
        return [.commit(commit, login.snapshot(standing: .loggedIn, at: moment))]
    }

    /// Replaces the session's login after the record of the new one is as safe as it could be made.
    ///
    /// The old login is also revoked at the server, if that is known to end nothing else and the new one is
    /// durable. That of a fleet is revoked by the host that replaces it in etcd.
    mutating func adopt(
        _ adopted: Login,
        finishing number: LoginNumber,
        isDurable: Bool,
        at moment: Moment
    ) -> [Effect] {
        let held = heldSecrets
        let replaced = isDurable && !policy.isShared ? revocable : nil
        progress = nil
        become(.ready(adopted))
        let serverClockAhead = history.serverClockAhead
        history = RefreshHistory()
        history.heard(serverClockAhead: serverClockAhead)
        var effects = answerSatisfiedRequests(fresh: .primary, at: moment.now)
        effects += replaced.map(endReplaced) ?? []
        effects += erase(held.subtracting(heldSecrets).subtracting(replaced?.secrets ?? []))
        if let token = adopted.primary { effects.append(.finishLogin(number, .done(token))) }
        effects.append(.notify(SessionEvent(.loggedIn, expiresAt: adopted.primary?.expiresAt)))
        return effects + advance(wanting: nextWanted(at: moment.now), at: moment)
    }

    /// Abandons the attempt in flight.
    ///
    /// Its result is late and must not overwrite the new login.
    private mutating func abandonAttempt() {
        switch state {
        case .refreshing(let login, let attempt):
            guard case .committing(_, let renewed, _) = attempt.phase else {
                become(.ready(login))
                return
            }
            become(.ready(renewed))
        case .probing(let ended, _, _):
            become(.loggedOut(ended))
        case .loggedOut, .reauthenticating, .ready, .retrying, .suspended:
            break
        }
    }

    /// The data of the current or latest login that a new one may need.
    package var currentLogin: PreviousLogin? { revocable?.present }

    func discard(_ outcome: LoginOutcome) -> [Effect] {
        guard case .granted(let grant) = outcome else { return [] }
        // A revocation needs no proof (RFC 9449 §5), so the key can be erased at once.
        return (grant.proofKey.map { [.erase($0)] } ?? [])
            + endLate(
                RevocationRequest(
                    refreshToken: grant.tokens.refreshToken,
                    accessToken: grant.tokens.accessToken,
                    tokenEndpoint: grant.tokenEndpoint,
                    server: grant.server,
                    settings: policy.madeOf
                )
            )
    }

    /// Every secret that the session names, in any state.
    var heldSecrets: Set<SecretID> {
        var held: Set<SecretID> = []
        switch state {
        case .loggedOut(let ended), .reauthenticating(let ended, _): held = ended.afterlife.secrets
        case .probing(let ended, let login, let attempt):
            held = ended.afterlife.secrets.union(login.secrets).union(attempt.secrets)
        case .ready(let login), .retrying(let login, _), .suspended(let login, _): held = login.secrets
        case .refreshing(let login, let attempt): held = login.secrets.union(attempt.secrets)
        }
        if case .committing(_, let login, _) = progress { held.formUnion(login.secrets) }
        return held
    }
}

extension Attempt {
    /// The secrets of a response that is being made durable.
    fileprivate var secrets: Set<SecretID> {
        guard case .committing(_, let renewed, let obsolete) = phase else { return [] }
        return renewed.secrets.union(obsolete)
    }
}

extension EndedLogin.RemainingUse {
    fileprivate var secrets: Set<SecretID> {
        switch self {
        case .none: []
        case .quarantined(let login, _, _), .revoking(let login, _, _, _, _): login.secrets
        }
    }
}
