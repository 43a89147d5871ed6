// SPDX-License-Identifier: MIT

/// The meaning of a failure for the session, and the only part of it that the state machine looks at.
///
/// The consequences of each class are a row of ``consequences``, and nowhere else.
package enum FailureClass: String, CaseIterable, Sendable {
    /// Nothing was sent: name resolution, connect or TLS handshake timed out. The refresh token is untouched.
    case unreachable
    /// A certificate, pin or TLS version was rejected before the request was sent. Retried after 60 s at the
    /// earliest.
    case insecure
    /// The request was sent and no complete response arrived. The server may have rotated the token.
    case ambiguous
    /// A complete response without tokens (HTML with 200, a redirect, no `access_token`). The token may be
    /// used.
    case misbehaved
    /// The server responded that it cannot serve now (5xx, 429, 408, a proxy's 403). The token is unused.
    case busy
    /// `invalid_client`: an expired secret, or a server during a redeployment. The refresh token remains
    /// valid.
    case clientRejected = "client_rejected"
    /// `unauthorized_client`: the client may not refresh, or the refresh token is invalid.
    ///
    /// Some servers send it for an invalid refresh token to a client that has refreshed before.
    case clientUnauthorized = "client_unauthorized"
    /// The server no longer knows the client that the agent registered there. A login registers another.
    case clientUnknown = "client_unknown"
    /// `invalid_grant` and similar codes: the authorization server itself says that the grant is invalid.
    case grantDead = "grant_dead"
    /// A code that the protocol defines as the end of the session. Final at once, without confirmation.
    case sessionOver = "session_over"
    /// The server requires the user: consent, a second factor, `access_denied`. Final at once.
    case interactionRequired = "interaction_required"
    /// A bare 400/401, `invalid_request` or an unknown code.
    ///
    /// Some servers reject an invalid refresh token in this way, others a refresh that comes too early.
    case unexplained
    /// `unsupported_grant_type` and similar codes: the configuration is wrong. The refresh token remains
    /// valid.
    case misconfigured
    /// `invalid_scope` or `invalid_target`: only the requested variant is unavailable.
    case variantRefused = "variant_refused"
    /// The ID token of a refresh names another account. Nothing is served until the user acts.
    case identityChanged = "identity_changed"
    /// This host and the fleet reject each other until the user corrects the setup. Nothing was sent.
    case fleetMisconfigured = "fleet_misconfigured"
    /// There was no disk space for the response, so nothing was sent.
    case storage
    /// A configured program or file that the request needs failed. Nothing was sent.
    ///
    /// It may work a moment later: a keyring is locked at boot, or a file is written a little late.
    case helperFailed = "helper_failed"
    /// A configured program reports a wrong password or PIN. Nothing was sent.
    ///
    /// Another attempt could lock the account or the card, so only the user starts one.
    case credentialRejected = "credential_rejected"
    /// The session or program that the tokens come from requires the user to log in there. Nothing was sent.
    case sourceEnded = "source_ended"
    /// The session or program that the tokens come from has no token at the moment. Nothing was sent.
    case sourceUnavailable = "source_unavailable"
    /// The server rejected the source token for the new token. The source token has to be replaced first.
    case sourceRefused = "source_refused"
}

/// The consequences of a failure.
package struct FailureConsequences: Equatable, Sendable {
    /// The next state of the session after a failed refresh.
    enum Verdict: Equatable, Sendable {
        /// The refresh is retried as ``RetryState`` plans it.
        case retry
        /// The refresh is retried at the times of ``RetrySchedule/clientRetries``, and after these like
        /// ``suspend``.
        case retryThenSuspend
        /// Automatic refreshes stop, and the login is kept.
        case suspend
        /// Only the requested variant is unavailable. For the login's own token, the same as ``suspend``.
        case refuseVariant
        /// The login has ended. Unless `keeping` says it, the session decides which secrets to retain.
        case end(EndReason, keeping: SecretRetention?)
        /// The login has ended, unless the refresh token was sent for the first time.
        ///
        /// Such a token is tried once more, because one lagging replica must not end a session.
        case endUnlessConfirmed(EndReason)
        /// The login has ended. Its refresh token is tried once more, however often it has worked before.
        case endAndConfirm(EndReason)
        /// The source of the tokens has ended, and returns when the user logs in there.
        case endWithSource
        /// The source token of the new token is never used again.
        case refuseSource
    }

    /// The effect of the failed request on its refresh token.
    enum RefreshTokenEffect: Equatable, Sendable {
        /// The refresh token was not sent.
        case unsent
        /// The refresh token was sent, and the server may have replaced it.
        case unanswered
        /// The server responded and did not replace the refresh token.
        case answered
    }

    /// The time after which another request to the server may help without any change.
    package enum Prospect: Equatable, Sendable {
        case soon
        /// Some servers reject requests for a while without a reason.
        case hourly
        case never
    }

    /// The advice to the user at a login.
    package enum LoginFailureAdvice: Equatable, Sendable {
        case tryLater
        case correctSettings
        case logInAgain
    }

    var verdict = Verdict.retry
    /// The verdict that replaces ``verdict`` if the same client has refreshed the login before.
    var verdictOnceRefreshed: Verdict?
    var tokenUse = RefreshTokenEffect.answered
    /// The minimum delay before the next attempt, except the first replay of a lost response.
    var minimumDelay = Duration.zero
    /// The delays after the first, second, … consecutive failure of this class.
    ///
    /// Empty means the ordinary backoff.
    ///
    /// The last one applies to all further failures.
    var pauses: [Duration] = []
    /// Whether only the user starts another attempt after ``Verdict/suspend``.
    var awaitsPerson = false
    /// Whether requests wait for the next attempt instead of receiving this failure.
    var keepsWaiters = false
    /// Whether only the user can correct the cause.
    ///
    /// Requests receive this failure, and retries continue.
    var isMistake = false
    /// Whether a request may bring the next attempt forward.
    var yieldsToRequests = false
    /// The delay of a suspended session before the next attempt.
    var suspendedRetry = RetrySchedule.suspendedRetry
    /// Whether the failure concerns the issuer or the network to it, not this session's login.
    var isIssuersTrouble = false
    package var prospect = Prospect.never
    package var loginRemedy = LoginFailureAdvice.logInAgain
    /// Whether the client credentials may be at fault.
    ///
    /// They are read again for the next request.
    package var blamesClient = false

    /// Returns the next state of a login after a failed refresh.
    ///
    /// - Parameter hasRefreshed: whether the same client has refreshed the login before.
    /// - Returns: ``verdictOnceRefreshed`` if it has and there is one, else ``verdict``.
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
                // A different result within a minute is unlikely, and frequent attempts would burden a proxy
                // or a wrong host.
                minimumDelay: .seconds(60),
                isIssuersTrouble: true,
                prospect: .soon,
                // At a login the user is present and can correct it. A running session retries automatically.
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
                minimumDelay: .seconds(60),
                isIssuersTrouble: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        case .busy: FailureConsequences(isIssuersTrouble: true, prospect: .soon, loginRemedy: .tryLater)
        case .fleetMisconfigured:
            FailureConsequences(
                tokenUse: .unsent,
                isMistake: true,
                // This host is not notified when the setup has been corrected.
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
                // The failure says nothing about the login, if that has ended.
                prospect: .hourly,
                loginRemedy: .correctSettings,
                blamesClient: true
            )
        case .variantRefused:
            FailureConsequences(verdict: .refuseVariant, prospect: .hourly, loginRemedy: .correctSettings)
        case .helperFailed:
            FailureConsequences(
                tokenUse: .unsent,
                // A program may show a dialog, or count failures itself, so requests do not bring the next
                // attempt forward.
                pauses: RetrySchedule.helperPauses,
                prospect: .soon,
                // At a login the user is present and can correct it. A running session retries automatically.
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
                // The source is refreshed at once, and the next attempt follows.
                keepsWaiters: true,
                yieldsToRequests: true,
                prospect: .soon,
                loginRemedy: .tryLater
            )
        }
    }
}
