// SPDX-License-Identifier: MIT

import Text

/// An action that a ``Session`` has decided on.
///
/// Effects are executed in order.
///
/// Effects that take long return as the event named with them.
package enum Effect: Equatable, Sendable {
    /// Make a refresh attempt.
    ///
    /// ``Session/reservation(of:at:)`` says what has to be durable first, `reservationFinished` follows. Then
    /// ``Session/request(of:within:)`` has the token request to send, and `refreshFinished` follows.
    case begin(AttemptNumber)
    /// Make the session's current record durable. `commitFinished` follows.
    case commit(CommitNumber, SessionSnapshot)
    /// An attempt brought no tokens: if the server has answered, remove its reservation and recording, else keep both
    /// for the next attempt.
    case release(AttemptNumber, answered: Bool)
    /// Remove the session's files.
    case forget
    /// Revoke tokens at the server. `revocationFinished` follows.
    case revoke(RevocationRequest)
    /// Revoke and then erase tokens that are not used any more. Nothing waits for it.
    case discard(RevocationRequest)
    /// Respond to a request for a token.
    case reply(WaiterID, Reply)
    /// Report the result of the login to its requester.
    case finishLogin(LoginNumber, LoginReply)
    /// Report the result of the logout to its requesters.
    case finishLogout(LogoutReply)
    /// Overwrite a secret in memory.
    case erase(SecretID)
    /// Try the noninteractive logins until one works. `noninteractiveLoginFinished` follows.
    case reauthenticate(LoginNumber, [NoninteractiveLoginMethod], account: String?)
    /// Notify subscribers and hooks.
    case notify(SessionEvent)
}

/// The response to a request for a token.
package enum Reply: Equatable, Sendable {
    case token(AccessToken)
    case failure(ServingFailure)
}

/// The reason a request gets no token.
package enum ServingFailure: Error, Equatable, Sendable {
    /// Only a new login helps. If there is a `remedy`, the login is made elsewhere.
    case loginRequired(EndReason, message: String, remedy: Remedy? = nil)
    /// A retry after `retryAfter` may work, and so may `remedy`.
    case temporarilyUnavailable(message: String, retryAfter: Duration?, remedy: Remedy? = nil)
    /// The current token was rejected, and another one is not available before `retryAfter`.
    case tokenRefused(message: String, retryAfter: Duration)
    /// The user has to correct something, as `remedy` says. The login is kept.
    case misconfigured(message: String, remedy: Remedy)
    /// The login is valid but cannot be renewed, so only another login brings another token.
    ///
    /// If there is a `remedy`, the login is made elsewhere.
    case notRefreshable(message: String, remedy: Remedy?)
    /// The issuer's tokens have a total lifetime of `lifetime`, less than requested.
    case validityUnattainable(lifetime: Duration)
    /// The server issued no ID token with this session's access token.
    case noIDToken
    /// The session's ID token expires too soon, and a refresh brought no other one. Only a new login helps.
    ///
    /// If there is a `remedy`, the login is made elsewhere.
    case idTokenNotRenewed(remedy: Remedy?)
}

/// The result of a login, for its requester.
package enum LoginReply: Equatable, Sendable {
    /// The login is durable and its primary token is served.
    case done(AccessToken)
    case failed(RefreshFailure)
    case cancelled
    /// Another login or a logout came first.
    case superseded
}

/// The result of a logout, for its requesters.
package enum LogoutReply: Equatable, Sendable {
    /// The session was removed here, and its tokens were revoked.
    case revoked
    /// The session was removed here. There was no token that a server could revoke.
    case nothingToRevoke
    /// The session was removed here. The server was not to be told.
    case local
    /// The session was removed here. The server does not support revocation, so its tokens are valid until
    /// they expire.
    case unsupported(message: String)
    /// The session was removed here. The server rejected the revocation, or failed for a day, and gets no
    /// more requests.
    case refused(message: String)
    /// The session was removed here. The server did not respond, and the revocation is retried for up to a
    /// day.
    case notYetRevoked(message: String)

    /// The reason tokens may remain valid with no further revocation, or `nil` if there is none.
    var leftover: String? {
        switch self {
        case .revoked, .nothingToRevoke, .local, .notYetRevoked: nil
        case .unsupported(let message), .refused(let message): message
        }
    }
}

/// An event for subscribers and hooks, without any secret.
package struct SessionEvent: Equatable, Sendable {
    package var name: EventName
    /// A stable word: an ``EndReason``, a ``FailureClass`` or the ``RefreshReason`` of a successful refresh.
    ///
    /// With `loggedOut`, it is the later result of the revocation: `revoked`, `not_revoked`.
    package var reason: String?
    package var message: String?
    /// The expiry of the new access token, or the end of the session.
    package var expiresAt: Instant?
    /// The reason for the refresh that the event is about.
    package var refreshReason: RefreshReason?
    /// The variant of the refreshed token.
    package var variant = TokenVariant.primary
    /// The kinds of warnings about the new tokens.
    package var notes: [GrantWarning.Kind] = []

    /// The event that the login was made with other settings than the active ones.
    package static let settingsChanged = SessionEvent(
        .loginRequired,
        reason: EndReason.configurationChanged.rawValue
    )

    package init(_ name: EventName, reason: String? = nil, message: String? = nil, expiresAt: Instant? = nil)
    {
        self.name = name
        self.reason = reason
        self.message = message
        self.expiresAt = expiresAt
    }

    /// Creates the event for a successful refresh made for `reason`.
    package init(
        refreshedFor reason: RefreshReason,
        _ variant: TokenVariant = .primary,
        expiresAt: Instant?
    ) {
        self.init(.refreshed, reason: reason.rawValue, expiresAt: expiresAt)
        refreshReason = reason
        self.variant = variant
    }

    /// Creates the event for a failed refresh made for `reason`.
    package init(_ failure: RefreshFailure, of reason: RefreshReason) {
        self.init(.refreshFailed, reason: failure.kind.rawValue, message: failure.message)
        refreshReason = reason
    }
}
