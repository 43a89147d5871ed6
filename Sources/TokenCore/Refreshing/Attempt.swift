// SPDX-License-Identifier: MIT

/// One refresh on its way.
struct Attempt: Equatable, Sendable {
    /// How far it is.
    enum Phase: Equatable, Sendable {
        /// The intent is being made durable; nothing was sent.
        /// Next: `sending` when it is, `awaitingPeer` in a fleet, the failure path when the disk refuses.
        case reserving
        /// Another host of the fleet is refreshing; nothing was sent from here.
        /// Next: the session is ready with that host's record; `sending` when it gave up; the failure path.
        case awaitingPeer
        /// The request is out. Next: `committing` with the answer's tokens, or the failure path.
        case sending
        /// The answer is being made durable; nobody has seen its tokens. Next: the session is ready.
        case committing(CommitNumber, Login, obsolete: Set<SecretID>)
    }

    var number: AttemptNumber
    var variant: TokenVariant
    var phase: Phase
    var startedAt: Instant
    /// Why it is made; a retry is made for the reason of the first.
    var reason: RefreshReason
    /// The failures that came before, if this is a retry.
    var setback: RetryState?
    /// Whether it sends the refresh token, so that the login depends on the answer.
    var usesRefreshToken: Bool
    /// Whether the refresh token had an answer missing when this attempt began.
    var isReplay: Bool
    /// Whether the refresh token had never been sent when this attempt began.
    var isFirstUse: Bool
    /// Why the answer that is being made durable brings nothing to serve, only a refresh token.
    var refusal: Refusal?
    /// Why another host cannot be asked for what this one waits for.
    var denial: ServingFailure?
    /// What had to be fixed by hand before this attempt; it counts as fixed only when the attempt works.
    var suspension: Suspension?

    /// Nothing was sent yet.
    var isReserving: Bool { phase == .reserving || phase == .awaitingPeer }

    /// Changes the login of an answer that is being stored.
    mutating func changeAnswer(_ change: (inout Login) -> Void) {
        guard case .committing(let number, var renewed, let obsolete) = phase else { return }
        change(&renewed)
        phase = .committing(number, renewed, obsolete: obsolete)
    }

    struct Refusal: Equatable, Sendable {
        var failure: RefreshFailure
        /// In `0..<1`, drawn when the answer came.
        var jitter: Double
    }
}

/// A login that is over.
struct EndedLogin: Equatable, Sendable {
    /// What may still be done with it.
    enum Disposition: Equatable, Sendable {
        /// Nothing is left.
        case none
        /// The refresh token is kept, sealed and unused, until `erasedAt`; `probeAt`: tried once more then.
        case quarantined(Login, erasedAt: Instant, probeAt: Instant?)
        /// The person logged out; the server is asked to revoke until `givenUpAt`.
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

        /// Moves the time that the wall clock gave at the start, after that has stepped.
        mutating func moveErasure(by step: Duration) {
            guard case .quarantined(let login, let erasedAt, let probeAt) = self else { return }
            self = .quarantined(login, erasedAt: erasedAt - step, probeAt: probeAt)
        }
    }

    var reason: EndReason
    var message: String
    /// What helps, where that is not a login to this very session.
    var remedy: String?
    /// When; `nil`: not known.
    var at: WallTime?
    /// A person logged out at this host alone: the other hosts of its fleet go on (``SessionPolicy/isShared``).
    var isHereAlone = false
    /// When the wall clock last said how long it is kept, at a start of the agent or a step since then; `nil` if it ended
    /// since the start.
    var datedAt: Instant?
    /// The next login without a person, after one that failed for a while.
    var silentRetry: SilentRetry?
    var afterlife: Disposition

    /// What its record keeps of the end.
    var details: EndDetails? { at.map { EndDetails(message: message, at: $0) } }

    /// When its secrets are erased, if they are kept: not before a wall clock that is wrong has had time to be set.
    var erasure: Instant? {
        guard case .quarantined(_, let erasedAt, _) = afterlife else { return nil }
        return datedAt.map { max(erasedAt, $0 + RetrySchedule.wallClockGrace) } ?? erasedAt
    }

    /// The login whose tokens may be served to their end.
    var login: Login? {
        guard case .quarantined(let login, _, _) = afterlife, reason.consequences.leavesTokensGood else {
            return nil
        }
        return login
    }

    /// Drops what is of no use any more.
    mutating func reduce(to remains: RetainedSecrets) {
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

/// A login without a person that is tried again, as a program or the server did not work.
struct SilentRetry: Equatable, Sendable {
    var at: Instant
    /// How many have failed.
    var failures: Int
    /// Why the login had ended.
    var cause: String
}

/// What is kept of a login that is over.
enum RetainedSecrets: Sendable {
    /// Its tokens too: they are served to their end, or a last try needs them.
    case everything
    /// The refresh token alone, unused.
    case refreshToken
    /// No secret, because the server's answer was final.
    case nothing
}

/// Why automatic refreshes stopped while the login is kept.
struct Suspension: Equatable, Sendable {
    var failure: RefreshFailure
    /// `nil`: only a person starts another try.
    var retryAt: Instant?
    /// Failures in a row, where nobody has to fix anything before the next try; else 0.
    var failures = 0
}
