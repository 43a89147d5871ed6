// SPDX-License-Identifier: MIT

import Text

/// A refresh in progress.
struct Attempt: Equatable, Sendable {
    /// The progress of the attempt.
    enum Phase: Equatable, Sendable {
        /// The attempt waits for its issuer and its fleet, and for its intent to be durable. Nothing was sent.
        ///
        /// Next: `sending` when it is durable, `awaitingPeer` in a fleet, the failure path if the disk fails.
        case reserving
        /// Another host of the fleet is refreshing. Nothing was sent from here.
        ///
        /// Next: the session is ready with that host's record, `sending` if that host gave up, or the failure
        /// path.
        case awaitingPeer
        /// The request may be sent from now on. Next: `committing` with the tokens of the response, or the failure path.
        case sending
        /// The response is being made durable. Its tokens are not served yet. Next: the session is ready.
        case committing(CommitNumber, Login, obsolete: Set<SecretID>)
    }

    var number: AttemptNumber
    var variant: TokenVariant
    var phase: Phase
    var startedAt: Instant
    /// The reason for the refresh.
    ///
    /// A retry keeps the reason of the first attempt.
    var reason: RefreshReason
    /// The preceding failures, if this attempt is a retry.
    var setback: RetryState?
    /// Whether the attempt sends the refresh token, so that the login depends on the response.
    var usesRefreshToken: Bool
    /// Whether a response to the refresh token was missing when this attempt began.
    var isReplay: Bool
    /// Whether the refresh token had never been sent when this attempt began.
    var isFirstUse: Bool
    /// The reason the response that is being made durable contains only a refresh token and nothing to serve.
    var refusal: UnusableTokenFailure?
    /// The reason another host cannot be asked for the token that this attempt waits for.
    var denial: ServingFailure?
    /// The problem that the user had to correct before this attempt.
    ///
    /// It counts as corrected only if the attempt works.
    var suspension: RefreshSuspension?

    /// Whether nothing was sent yet.
    var isReserving: Bool { phase == .reserving || phase == .awaitingPeer }

    /// Changes the login of a response that is being stored.
    mutating func changeAnswer(_ change: (inout Login) -> Void) {
        guard case .committing(let number, var renewed, let obsolete) = phase else { return }
        change(&renewed)
        phase = .committing(number, renewed, obsolete: obsolete)
    }

    /// The failure after a response whose access token cannot be used.
    struct UnusableTokenFailure: Equatable, Sendable {
        var failure: RefreshFailure
        /// A random number in `0..<1`, drawn when the response arrived.
        var jitter: Double
    }
}

/// The end of a login: its reason, and the remaining use of the tokens.
struct EndedLogin: Equatable, Sendable {
    /// The remaining use of an ended login.
    enum RemainingUse: Equatable, Sendable {
        /// Nothing is left of the login.
        case none
        /// The refresh token is kept sealed and unused until `erasedAt`. If there is a `probeAt`, it is tried
        /// once more then.
        case quarantined(Login, erasedAt: Instant, probeAt: Instant?)
        /// The user logged out. The server is asked to revoke until `givenUpAt`.
        case revoking(Login, RevocationRequest, retryAt: Instant?, failures: Int, givenUpAt: Instant)

        mutating func changeLogin(_ change: (inout Login) -> Void) {
            switch self {
            case .none: break
            case .quarantined(var login, let erasedAt, let probeAt):
                change(&login)
                self = .quarantined(login, erasedAt: erasedAt, probeAt: probeAt)
            case .revoking(var login, let request, let retryAt, let failures, let givenUpAt):
                change(&login)
                self = .revoking(login, request, retryAt: retryAt, failures: failures, givenUpAt: givenUpAt)
            }
        }

        /// Moves the erasure after the wall clock, which determined it at the start, has stepped.
        mutating func moveErasure(by step: Duration) {
            guard case .quarantined(let login, let erasedAt, let probeAt) = self else { return }
            self = .quarantined(login, erasedAt: erasedAt - step, probeAt: probeAt)
        }
    }

    var reason: EndReason
    var message: String
    /// The advice, if it is not a login to this session.
    var remedy: Remedy?
    /// The time of the end, or `nil` if unknown.
    var at: WallTime?
    /// Whether the user logged out at this host alone.
    ///
    /// The other hosts of the fleet keep the session (``SessionPolicy/isShared``).
    var isHereAlone = false
    /// The latest moment at which the wall clock determined the erasure, or `nil` if the login ended after
    /// the agent's start.
    ///
    /// That is a start of the agent, or a step of the wall clock since then.
    var datedAt: Instant?
    /// The next noninteractive login, after one that failed temporarily.
    var noninteractiveRetry: NoninteractiveLoginRetry?
    var afterlife: RemainingUse

    /// The details of the end that are stored in the record.
    var details: LoginEndDetails? { at.map { LoginEndDetails(message: message, at: $0) } }

    /// The time at which retained secrets are erased.
    ///
    /// A wrong wall clock first gets time to be corrected.
    var erasure: Instant? {
        guard case .quarantined(_, let erasedAt, _) = afterlife else { return nil }
        return datedAt.map { max(erasedAt, $0 + RetrySchedule.wallClockGrace) } ?? erasedAt
    }

    /// The login whose access tokens may be served until they expire.
    var login: Login? {
        guard case .quarantined(let login, _, _) = afterlife, reason.consequences.leavesTokensGood else {
            return nil
        }
        return login
    }

    /// Removes secrets that are no longer needed.
    mutating func reduce(to remains: SecretRetention) {
        afterlife.changeLogin { login in
            switch remains {
            case .everything: break
            case .refreshToken: login.tokens = [:]
            case .nothing:
                login.tokens = [:]
                login.renewal = .impossible
                login.formerRefreshToken = nil
                login.proofKey = nil
            }
        }
    }
}

/// A noninteractive login that is retried because a program or the server failed.
struct NoninteractiveLoginRetry: Equatable, Sendable {
    var at: Instant
    /// The number of failed noninteractive logins.
    var failures: Int
    /// The reason the login had ended.
    var cause: String
}

/// The reason automatic refreshes stopped while the login is kept.
struct RefreshSuspension: Equatable, Sendable {
    var failure: RefreshFailure
    /// The time of the next attempt, or `nil` if only the user starts one.
    var retryAt: Instant?
    /// The number of consecutive failures where nothing has to be corrected before the next attempt,
    /// otherwise 0.
    var failures = 0
}
