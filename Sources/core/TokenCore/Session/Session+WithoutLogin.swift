// SPDX-License-Identifier: MIT

import Text

/// Sessions whose tokens are obtained without a login (``SessionPolicy/startsByItself``).
///
/// They cannot lose a login. Where another session would need the user, they rest without a token until the
/// schedule or a request fetches the next one.
extension Session {
    /// The time at which the session starts automatically, or `nil` if it does not.
    ///
    /// After a logout the session starts only with a request for a token. A session that waits for a login
    /// elsewhere is notified of it, and tries once after a start of the agent.
    var startTime: Instant? {
        guard policy.startsByItself, case .loggedOut(let ended) = state else { return nil }
        switch ended.reason {
        case .loggedOut: return nil
        case .sourceEnded: return restoredAt
        default: return restoredAt ?? Instant(nanoseconds: 0)
        }
    }

    /// Returns whether a request may start the session.
    ///
    /// While a login elsewhere is needed, requests may start it once in ten seconds, because the source may
    /// be a program. The user always may.
    func mayStart(byPerson: Bool = false, at now: Instant) -> Bool {
        guard policy.startsByItself, case .loggedOut(let ended) = state else { return false }
        return byPerson || ended.reason != .sourceEnded || canRetryEarly(at: now)
    }

    /// Fetches a token without a login, unless tokens of the last session are being revoked.
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
            ended.login.flatMap { $0.renewal == .withoutLogin ? $0 : nil }
            ?? Login(startingAt: moment, of: policy.madeOf)
        become(.ready(login))
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

    /// Starts the session if a request waits for a token of it.
    mutating func startIfWanted(at moment: Moment) -> [Effect] {
        guard policy.startsByItself, let variant = nextWanted(at: moment.now) else { return [] }
        return startAnew(wanting: variant, reason: waiters.reason(for: variant), at: moment)
    }

    /// Whether the source of the tokens differs from the settings, which were changed while no agent was
    /// running.
    ///
    /// A record without a source is trusted.
    package var isOfOtherSettings: Bool {
        guard policy.startsByItself, let made = (login ?? servable)?.madeOf else { return false }
        return !made.utf8.elementsEqual((policy.madeOf ?? "").utf8)
    }

    /// Whether the session has ended without a login, and its token is served until it expires.
    var isServedAfterItsEnd: Bool {
        guard case .loggedOut(let ended) = state, servable?.renewal == .withoutLogin else { return false }
        if case .revoking = ended.afterlife { return false }
        return true
    }

    /// Removes the tokens because the settings that name their source have changed, and fetches new ones.
    mutating func restart(at moment: Moment) -> [Effect] {
        let held = heldSecrets
        rest(.configurationChanged, "the settings of the session have changed")
        return [.forget] + erase(held)
            + startAnew(wanting: nextWanted(at: moment.now) ?? .primary, reason: .person, at: moment)
    }

    // MARK: Sources

    /// The beginning of the login that other sessions' tokens are made from, or `nil` if there is none.
    ///
    /// Tokens made before it were made from another login.
    package var loginBegan: Instant? { login?.loggedInAt }

    /// Ends the session because the source of its tokens has ended or was logged out.
    ///
    /// - Parameters:
    ///   - failure: the failure for requests, with the remedy that brings the source back.
    ///   - moment: the current time.
    /// - Returns: the effects to execute. The tokens are revoked.
    package mutating func sourceEnded(_ failure: RefreshFailure, at moment: Moment) -> [Effect] {
        guard policy.startsByItself, !isAdopting, let login else { return [] }
        return endWithSource(failure, login, at: moment)
    }

    /// Restarts the session because the user has logged in to the source of its tokens.
    ///
    /// Nothing made from the old login is kept, because the new one may be of another account.
    package mutating func sourceReturned(at moment: Moment) -> [Effect] {
        guard policy.startsByItself, !isAdopting else { return [] }
        guard let login else { return sourceRecovered(at: moment) }
        let effects = revokeAndForget(login)
        rest(.sourceEnded, "new login to the session that its tokens come from")
        return effects
            + startAnew(wanting: nextWanted(at: moment.now) ?? .primary, reason: .person, at: moment)
    }

    /// Retries because the source of the tokens has a token again, of the same login as before.
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

    /// Ends a session that the user can bring back only at the source of its tokens.
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
        let returned = revokeAndForget(login)
        rest(.sourceEnded, message, remedy: failure.remedy)
        let event = SessionEvent(.loginRequired, reason: EndReason.sourceEnded.rawValue, message: message)
        return settleAll(loginRequired, at: moment.now) + returned + [.notify(event)]
    }

    /// Leaves the session without login and tokens.
    ///
    /// Waiting requests go on waiting.
    private mutating func rest(_ reason: EndReason, _ message: String, remedy: Remedy? = nil) {
        become(.loggedOut(EndedLogin(reason: reason, message: message, remedy: remedy, afterlife: .none)))
        storage = StorageHealth()
    }

    /// Removes the session's record and revokes all of its tokens.
    ///
    /// Nothing waits for the revocation.
    private func revokeAndForget(_ login: Login) -> [Effect] {
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
