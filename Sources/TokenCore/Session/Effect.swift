// SPDX-License-Identifier: MIT

/// One thing to do, decided by a ``Session``; a list of them is run in order.
///
/// Effects that take long come back as the event named with them.
package enum Effect: Equatable, Sendable {
    /// Make the intent to send the refresh token durable; answered by `reservationFinished`.
    case reserve(AttemptNumber, SessionSnapshot)
    /// Send one token request; answered by `refreshFinished`.
    case refresh(RefreshRequest)
    /// Make the session's present record durable; answered by `commitFinished`.
    case commit(CommitNumber, SessionSnapshot)
    /// Give up the reservation of an attempt that brought no tokens.
    case release(AttemptNumber, answered: Bool)
    /// Remove the session's files.
    case forget
    /// Revoke at the server; answered by `revocationFinished`.
    case revoke(RevocationRequest)
    /// Revoke and then erase tokens that arrived too late to be used; nobody waits for it.
    case discard(RevocationRequest)
    /// Answer a request for a token.
    case reply(WaiterID, Reply)
    /// Tell the person who logs in how it ended.
    case finishLogin(LoginNumber, LoginResult)
    /// Tell those who asked for the logout how it ended.
    case finishLogout(LogoutResult)
    /// Overwrite a secret in memory.
    case erase(SecretID)
    /// Log in again without a person, by the first way that works; answered by `silentLoginFinished`.
    case reauthenticate(LoginNumber, [SilentLogin], account: String?)
    /// Tell subscribers and hooks.
    case notify(SessionEvent)
}

package enum Reply: Equatable, Sendable {
    case token(AccessToken)
    case failure(ServingFailure)
}

/// Why a request gets no token.
package enum ServingFailure: Error, Equatable, Sendable {
    /// Only a new login helps; with a `remedy`, one elsewhere.
    case loginRequired(EndReason, message: String, remedy: String? = nil)
    /// Worth another try after `retryAfter`.
    case temporarilyUnavailable(message: String, retryAfter: Duration?)
    /// The present token was refused, and another one cannot be had before `retryAfter`.
    case tokenRefused(message: String, retryAfter: Duration)
    /// Something has to be fixed by hand, by `remedy`; the login is kept.
    case misconfigured(message: String, remedy: String)
    /// The login stands and cannot be renewed, so that only another login brings another token; with a `remedy`, one
    /// elsewhere.
    case notRefreshable(message: String, remedy: String?)
    /// The issuer's tokens live `lifetime` in all, less than asked for.
    case validityUnattainable(lifetime: Duration)
    /// The server gave no ID token with this session's access token.
    case noIDToken
    /// The session's ID token ends too soon, and a refresh brought no other one; only a new login helps, with a
    /// `remedy` one elsewhere.
    case idTokenNotRenewed(remedy: String?)
}

package enum LoginResult: Equatable, Sendable {
    /// Durable and being served, with the primary token.
    case done(AccessToken)
    case failed(RefreshFailure)
    case cancelled
    /// Another login or a logout came first.
    case superseded
}

package enum LogoutResult: Equatable, Sendable {
    /// Gone here and at the server.
    case revoked
    /// Gone here; there was no token that a server could revoke.
    case nothingToRevoke
    /// Gone here; the server was not to be told.
    case local
    /// Gone here; the server has no way to revoke, so its tokens are good until they expire.
    case unsupported(message: String)
    /// Gone here; the server refused, or has not answered for a day, and is not asked again.
    case refused(message: String)
    /// Gone here; the server did not answer and is asked again for up to a day.
    case notYetRevoked(message: String)

    /// Why tokens of the session may still work although nothing more will be done about it.
    var leftover: String? {
        switch self {
        case .revoked, .nothingToRevoke, .local, .notYetRevoked: nil
        case .unsupported(let message), .refused(let message): message
        }
    }
}

/// Something subscribers and hooks want to know, without any secret.
package struct SessionEvent: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case refreshed
        case refreshFailed
        case loginRequired
        case expiring
        case loggedIn
        case loggedOut
    }

    package var kind: Kind
    /// A stable word: an ``EndReason``, a ``FailureClass`` or the ``RefreshReason`` of a refresh that worked;
    /// with `loggedOut`, what became of the tokens later on: `revoked`, `not_revoked`.
    package var reason: String?
    package var message: String?
    /// When the new access token, or the session, ends.
    package var expiresAt: Instant?
    /// Why the refresh that the event is about was made.
    package var refreshReason: RefreshReason?
    /// Which token was refreshed.
    package var variant = TokenVariant.primary
    /// What a person should know about the tokens that came.
    package var notes: [GrantWarning.Kind] = []

    /// The login is of other settings than those that are in force now.
    package static let settingsChanged = SessionEvent(
        .loginRequired,
        reason: EndReason.configurationChanged.rawValue
    )

    package init(_ kind: Kind, reason: String? = nil, message: String? = nil, expiresAt: Instant? = nil) {
        self.kind = kind
        self.reason = reason
        self.message = message
        self.expiresAt = expiresAt
    }

    /// A refresh made for `reason` worked.
    package init(
        refreshedFor reason: RefreshReason,
        _ variant: TokenVariant = .primary,
        expiresAt: Instant?
    ) {
        self.init(.refreshed, reason: reason.rawValue, expiresAt: expiresAt)
        refreshReason = reason
        self.variant = variant
    }

    /// A refresh made for `reason` failed.
    package init(_ failure: RefreshFailure, of reason: RefreshReason) {
        self.init(.refreshFailed, reason: failure.kind.rawValue, message: failure.message)
        refreshReason = reason
    }
}
