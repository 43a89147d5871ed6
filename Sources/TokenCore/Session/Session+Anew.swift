// SPDX-License-Identifier: MIT

/// Sessions whose tokens come from something that is there anyway (``SessionPolicy/startsByItself``).
///
/// They have no login to lose. Where another session would need a person, they rest without a token, until the
/// schedule or a request fetches the next one.
extension Session {
    /// When the session starts without being asked, `nil` if it does not.
    ///
    /// Whom a person logged out stays so until somebody wants a token. What waits for a login elsewhere is told
    /// when that has happened, and asks once by itself after a start of the agent.
    var startTime: Instant? {
        guard policy.startsByItself, case .loggedOut(let ended) = state else { return nil }
        switch ended.reason {
        case .loggedOut: return nil
        case .sourceEnded: return restoredAt
        default: return restoredAt ?? Instant(nanoseconds: 0)
        }
    }

    /// Whether a request may start the session.
    ///
    /// While a login elsewhere is needed, at most once in ten seconds, as the source may be a program; a person may
    /// always.
    func mayStart(byPerson: Bool = false, at now: Instant) -> Bool {
        guard policy.startsByItself, case .loggedOut(let ended) = state else { return false }
        return byPerson || ended.reason != .sourceEnded || canRetryEarly(at: now)
    }

    /// Fetches a token without a login before it; not while tokens of the last one are being revoked.
    mutating func startAnew(
        wanting variant: TokenVariant = .primary,
        reason: RefreshReason,
        at moment: Moment
    ) -> [Effect] {
        guard policy.startsByItself, case .loggedOut(let ended) = state else { return [] }
        if isAdopting { return [] }
        if case .revoking(_, _, retryAt: nil, _, _) = ended.afterlife { return [] }
        restoredAt = nil
        let held = heldSecrets
        let login =
            ended.login.flatMap { $0.renewal == .anew ? $0 : nil }
            ?? Login(startingAt: moment, of: policy.madeOf)
        state = .ready(login)
        var obsolete = held.subtracting(login.secrets)
        var effects: [Effect] = []
        if case .revoking(_, let request, _, _, _) = ended.afterlife {
            obsolete.subtract(
                [request.refreshToken, request.accessToken, request.idToken].compactMap(\.self)
            )
            effects = [.discard(request)]
        }
        return effects + erase(obsolete) + start(variant, login, setback: nil, reason: reason, at: moment)
    }

    /// Starts the session if somebody waits for a token of it.
    mutating func startIfWanted(at moment: Moment) -> [Effect] {
        guard policy.startsByItself, let variant = nextWanted(at: moment.now) else { return [] }
        return startAnew(wanting: variant, reason: waiters.reason(for: variant), at: moment)
    }

    /// Whether its tokens are made of something else than the settings name: those were changed while no agent looked.
    ///
    /// A record without that knowledge is believed.
    package var isOfOtherSettings: Bool {
        guard policy.startsByItself, let made = (login ?? servable)?.madeOf else { return false }
        return !made.utf8.elementsEqual((policy.madeOf ?? "").utf8)
    }

    /// Whether it has ended without a login, and its token is served until that ends too.
    var isServedAfterItsEnd: Bool {
        guard case .loggedOut(let ended) = state, servable?.renewal == .anew else { return false }
        if case .revoking = ended.afterlife { return false }
        return true
    }

    /// The settings that say where the tokens come from have changed: the old ones go, and new ones are fetched.
    mutating func restart(at moment: Moment) -> [Effect] {
        let held = heldSecrets
        rest(.configurationChanged, "the settings of the session have changed")
        return [.forget] + erase(held)
            + startAnew(wanting: nextWanted(at: moment.now) ?? .primary, reason: .person, at: moment)
    }

    // MARK: Sources

    /// When the login that other sessions' tokens are made from began; `nil`: none stands.
    ///
    /// What was made before it was made from another login.
    package var loginBegan: Instant? { login?.loggedInAt }

    /// The session that the tokens come from has ended, or been logged out.
    ///
    /// - Parameters:
    ///   - failure: what callers are told, with the remedy that brings the source back.
    ///   - moment: now.
    /// - Returns: what to do; the tokens are revoked.
    package mutating func sourceEnded(_ failure: RefreshFailure, at moment: Moment) -> [Effect] {
        guard policy.startsByItself, !isAdopting, let login else { return [] }
        return endWithSource(failure, login, at: moment)
    }

    /// Somebody has logged in to the session that the tokens come from: nothing made of the old login is kept, as the
    /// new one may be another account's.
    package mutating func sourceReturned(at moment: Moment) -> [Effect] {
        guard policy.startsByItself, !isAdopting else { return [] }
        guard let login else { return sourceRecovered(at: moment) }
        let effects = giveBack(login)
        rest(.sourceEnded, "the session that its tokens come from was logged in to again")
        return effects
            + startAnew(wanting: nextWanted(at: moment.now) ?? .primary, reason: .person, at: moment)
    }

    /// The session that the tokens come from has a token again, of the login that it had: what waits for that need
    /// wait no longer.
    package mutating func sourceRecovered(at moment: Moment) -> [Effect] {
        guard policy.startsByItself, !isAdopting else { return [] }
        let variant = nextWanted(at: moment.now) ?? .primary
        if case .loggedOut(let ended) = state, ended.reason == .sourceEnded {
            return startAnew(wanting: variant, reason: .person, at: moment)
        }
        guard case .retrying(let login, let setback) = state,
            [.sourceUnavailable, .sourceRefused].contains(setback.latest.kind)
        else { return [] }
        return start(variant, login, setback: setback, reason: setback.reason, at: moment)
    }

    /// Ends a session that a person can bring back only where its tokens come from.
    mutating func endWithSource(_ failure: RefreshFailure, _ login: Login, at moment: Moment) -> [Effect] {
        let message = failure.message
        guard !login.tokens.isEmpty else {
            rest(.sourceEnded, message, remedy: failure.remedy)
            return settleAll(loginRequired, at: moment.now)
        }
        guard !policy.tokensOutliveLogin else {
            return end(
                .sourceEnded,
                message,
                login,
                probeAt: nil,
                remedy: failure.remedy,
                at: moment
            )
        }
        let returned = giveBack(login)
        rest(.sourceEnded, message, remedy: failure.remedy)
        let event = SessionEvent(.loginRequired, reason: EndReason.sourceEnded.rawValue, message: message)
        return settleAll(loginRequired, at: moment.now) + returned + [.notify(event)]
    }

    /// Leaves the session without login and tokens; those who wait go on waiting.
    private mutating func rest(_ reason: EndReason, _ message: String, remedy: String? = nil) {
        state = .loggedOut(EndedLogin(reason: reason, message: message, remedy: remedy, afterlife: .none))
        storage = StorageHealth()
    }

    /// Forgets the session's record and has all of its tokens revoked; nobody waits for that.
    private func giveBack(_ login: Login) -> [Effect] {
        let given = revocable ?? login
        let tokens = given.tokens.values.map(\.secret).sorted { $0.rawValue < $1.rawValue }
        let endpoint = given.tokenEndpoint.isEmpty ? nil : given.tokenEndpoint
        return [.forget] + erase(heldSecrets.subtracting(tokens))
            + tokens.map { token in
                let request = RevocationRequest(
                    refreshToken: nil,
                    accessToken: token,
                    tokenEndpoint: endpoint,
                    server: given.server,
                    settings: given.madeOf
                )
                return .discard(request)
            }
    }
}
