// SPDX-License-Identifier: MIT

/// What a failure means for the session; the only thing the state machine looks at.
///
/// What follows from each is a row of ``consequences``, and nowhere else.
package enum FailureClass: String, CaseIterable, Sendable {
    /// Nothing was sent: name resolution, connect, TLS handshake timed out. The refresh token is untouched.
    case unreachable
    /// Certificate, pin or TLS version refused before the request was sent. Loud; retried from 60 s on.
    case insecure
    /// The request was sent, no complete answer came back: the server may have rotated the token.
    case ambiguous
    /// A complete answer without tokens (HTML with 200, a redirect, no `access_token`). Token perhaps used.
    case misbehaved
    /// The server answered that it cannot serve now (5xx, 429, 408, a proxy's 403). Token unused.
    case busy
    /// `invalid_client`: an expired secret, or a server that is being redeployed. The refresh token stays good.
    case clientRejected = "client_rejected"
    /// `unauthorized_client`: the client may not refresh, or the refresh token is dead. Some servers say this of a
    /// client that has refreshed before.
    case clientUnauthorized = "client_unauthorized"
    /// The server has forgotten the client that the agent registered with it; a login registers another.
    case clientUnknown = "client_unknown"
    /// `invalid_grant` and its like: the authorization server itself says that the grant is dead.
    case grantDead = "grant_dead"
    /// A code that the protocol defines as the end of the session. Final at once, nothing to confirm.
    case sessionOver = "session_over"
    /// The server wants the person: consent, a second factor, `access_denied`. Final at once.
    case interactionRequired = "interaction_required"
    /// A bare 400/401, `invalid_request` or a code that nobody knows: some servers' way of refusing a dead token, and
    /// of others to refuse a refresh that comes too early.
    case unexplained
    /// `unsupported_grant_type` and the like: fix the configuration; the refresh token stays good.
    case misconfigured
    /// `invalid_scope` or `invalid_target`: only the asked variant cannot be had.
    case variantRefused = "variant_refused"
    /// The ID token of a refresh names someone else: nothing is served until a person acts.
    case identityChanged = "identity_changed"
    /// This host and the fleet it shares the session with do not let each other in, until a person has put the set-up
    /// right; nothing was sent.
    case fleetMisconfigured = "fleet_misconfigured"
    /// No place on disk for the answer, so nothing was sent.
    case storage
    /// A program or file of the configuration that the request needs did not work; nothing was sent. It may work a moment
    /// later: a keyring is locked at boot, a file is written a little late.
    case helperFailed = "helper_failed"
    /// A program of the configuration says that a password or PIN is wrong; nothing was sent. Another try could lock the
    /// account or the card, so only a person starts one.
    case credentialRejected = "credential_rejected"
    /// The session or program that the tokens come from wants a person to log in there; nothing was sent.
    case sourceEnded = "source_ended"
    /// The session or program that the tokens come from has no token at this moment; nothing was sent.
    case sourceUnavailable = "source_unavailable"
    /// The server refused the token that another was to be made from: that one has to be replaced first.
    case sourceRefused = "source_refused"
}

/// What follows from a failure, in every place that asks.
package struct FailureConsequences: Equatable, Sendable {
    /// What becomes of the session at a refresh.
    enum Verdict: Equatable, Sendable {
        /// It is tried again, as ``Setback`` plans it.
        case retry
        /// It is tried again at the times of ``RetrySchedule/clientRetries``, and after these like ``suspend``.
        case retryThenSuspend
        /// Automatic refreshes stop, and the login is kept.
        case suspend
        /// Only the variant that was asked for cannot be had; for the login's own token the same as
        /// ``suspend``.
        case refuseVariant
        /// The login is over; what is kept of it is up to the session, unless said here.
        case end(EndReason, keeping: RetainedSecrets?)
        /// The login is over; a refresh token sent for the first time is tried once more, because one lagging
        /// replica must not end a session.
        case endUnlessConfirmed(EndReason)
        /// The login is over, and its refresh token is tried once more, however often it has worked before.
        case endAndConfirm(EndReason)
        /// What the tokens come from is over, and comes back when a person logs in there.
        case endWithSource
        /// The token that the new one was to be made from is never used again.
        case refuseSource
    }

    /// What the failure says about the refresh token of the request.
    enum TokenUse: Equatable, Sendable {
        /// It was not sent.
        case unsent
        /// It was sent, and the server may have replaced it.
        case unanswered
        /// The server has answered, and not replaced it.
        case answered
    }

    /// When asking the server again may help, without anything being changed.
    package enum Prospect: Equatable, Sendable {
        case soon
        /// Some servers refuse for a while without a reason.
        case hourly
        case never
    }

    /// What the person who logs in is told to do.
    package enum LoginRemedy: Equatable, Sendable {
        case tryLater
        case correctSettings
        case logInAgain
    }

    var verdict = Verdict.retry
    /// In place of ``verdict`` if the same client has refreshed the login before.
    var verdictOnceRefreshed: Verdict?
    var tokenUse = TokenUse.answered
    /// The shortest wait before the next try.
    var leastPause = Duration.zero
    /// The waits after the first, second, … failure of this class in a row, the last of them from then on; empty: the
    /// ordinary backoff.
    var pauses: [Duration] = []
    /// After ``Verdict/suspend`` only a person starts another try.
    var awaitsPerson = false
    /// Requests wait for the next try instead of being answered with this failure.
    var keepsWaiters = false
    /// Only a person can put it right: whoever asks is told that, while it is tried again all the same.
    var isMistake = false
    /// A request may bring the next try forward.
    var yieldsToRequests = false
    /// How long a suspended session waits for the next try.
    var suspendedRetry = RetrySchedule.suspendedRetry
    /// The issuer, or the way to it, is in trouble; not this session's login.
    package var isIssuersTrouble = false
    package var prospect = Prospect.never
    package var loginRemedy = LoginRemedy.logInAgain
    /// What proves who the client is may be at fault: it is read again for the next request.
    package var blamesClient = false

    /// What becomes of a login at a refresh; `hasRefreshed`: the same client has refreshed it before.
    func verdict(hasRefreshed: Bool) -> Verdict {
        hasRefreshed ? verdictOnceRefreshed ?? verdict : verdict
    }
}

extension FailureClass {
    package var consequences: FailureConsequences {
        switch self {
        case .unreachable:
            FailureConsequences(
                tokenUse: .unsent,
                keepsWaiters: true,
                // Nothing was sent, so nothing can be counted against the refresh token.
                yieldsToRequests: true,
                isIssuersTrouble: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        case .insecure:
            FailureConsequences(
                tokenUse: .unsent,
                // Another answer within a minute is unlikely, and hammering a proxy or a wrong host is rude.
                leastPause: .seconds(60),
                isIssuersTrouble: true,
                prospect: .soon,
                // At a login somebody is there to look at it; a session that runs tries again by itself.
                loginRemedy: .correctSettings
            )
        case .ambiguous:
            FailureConsequences(
                tokenUse: .unanswered,
                keepsWaiters: true,
                isIssuersTrouble: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        case .misbehaved:
            FailureConsequences(
                tokenUse: .unanswered,
                leastPause: .seconds(60),
                isIssuersTrouble: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        case .busy: FailureConsequences(isIssuersTrouble: true, prospect: .soon, loginRemedy: .tryLater)
        case .fleetMisconfigured:
            FailureConsequences(
                tokenUse: .unsent,
                isMistake: true,
                // Nobody tells this host when it has been put right.
                yieldsToRequests: true,
                prospect: .soon,
                loginRemedy: .correctSettings
            )
        case .storage:
            FailureConsequences(
                tokenUse: .unsent,
                keepsWaiters: true,
                yieldsToRequests: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        case .clientRejected:
            FailureConsequences(
                verdict: .retryThenSuspend,
                suspendedRetry: RetrySchedule.rejectedClientRetry,
                prospect: .hourly,
                loginRemedy: .correctSettings,
                blamesClient: true
            )
        case .clientUnauthorized:
            FailureConsequences(
                verdict: .suspend,
                verdictOnceRefreshed: .endUnlessConfirmed(.grantDead),
                prospect: .hourly,
                loginRemedy: .correctSettings,
                blamesClient: true
            )
        case .clientUnknown:
            FailureConsequences(verdict: .endAndConfirm(.clientUnknown), prospect: .hourly)
        case .unexplained: FailureConsequences(prospect: .hourly)
        case .grantDead: FailureConsequences(verdict: .endUnlessConfirmed(.grantDead))
        case .sessionOver: FailureConsequences(verdict: .end(.grantDead, keeping: .nothing))
        case .interactionRequired:
            FailureConsequences(verdict: .end(.interactionRequired, keeping: nil))
        case .identityChanged: FailureConsequences(verdict: .end(.identityChanged, keeping: nil))
        case .misconfigured:
            FailureConsequences(
                verdict: .suspend,
                // It says nothing of the login, if that has ended.
                prospect: .hourly,
                loginRemedy: .correctSettings,
                blamesClient: true
            )
        case .variantRefused:
            FailureConsequences(verdict: .refuseVariant, prospect: .hourly, loginRemedy: .correctSettings)
        case .helperFailed:
            FailureConsequences(
                tokenUse: .unsent,
                // A program may show a dialog, or count failures itself: requests do not bring it forward.
                pauses: RetrySchedule.helperPauses,
                prospect: .soon,
                // At a login somebody is there to look at it; a session that runs tries again by itself.
                loginRemedy: .correctSettings
            )
        case .credentialRejected:
            FailureConsequences(
                verdict: .suspend,
                tokenUse: .unsent,
                awaitsPerson: true,
                loginRemedy: .correctSettings
            )
        case .sourceEnded: FailureConsequences(verdict: .endWithSource, tokenUse: .unsent)
        case .sourceUnavailable:
            FailureConsequences(
                tokenUse: .unsent,
                // The source decides how often its own server is asked.
                yieldsToRequests: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        case .sourceRefused:
            FailureConsequences(
                verdict: .refuseSource,
                // The source is renewed at once, and with it comes the next try.
                keepsWaiters: true,
                yieldsToRequests: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        }
    }
}
