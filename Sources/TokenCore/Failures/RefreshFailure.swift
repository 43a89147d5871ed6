// SPDX-License-Identifier: MIT

/// Why a request to an authorization server brought no token.
package struct RefreshFailure: Error, Equatable, Sendable {
    package var kind: FailureClass
    /// The error code as on the wire (`invalid_grant`, `ErrRefreshTokenExpired`), when there was one.
    package var code: String?
    /// One sentence for a person: printable, at most 500 characters, no secrets.
    package var message: String
    /// What the server asked for, already clamped to 1 s … 1 h (RFC 9110 §10.2.3).
    package var retryAfter: Duration?
    /// Our own least pause before the next automatic try, where an early one has no prospect; a person who asks
    /// for a refresh need not wait for it.
    package var leastPause: Duration?
    /// What to change or do, where that is known: completes "to do: …".
    package var remedy: String?

    package init(
        kind: FailureClass,
        code: String? = nil,
        message: String,
        retryAfter: Duration? = nil,
        leastPause: Duration? = nil,
        remedy: String? = nil
    ) {
        self.kind = kind
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.leastPause = leastPause
        self.remedy = remedy
    }
}

/// What a failure means for the session; the only thing the state machine looks at.
package enum FailureClass: String, CaseIterable, Sendable {
    /// Nothing was sent: name resolution, connect, TLS handshake timed out. The refresh token is untouched.
    case unreachable
    /// Certificate, pin or TLS version refused before the request was sent. Loud; retried from 60 s on.
    case insecure
    /// The request was sent, no complete answer came back: the server may have rotated the token.
    case ambiguous
    /// A complete answer that is none (HTML with 200, a redirect, no `access_token`): perhaps used.
    case misbehaved
    /// The server answered that it cannot serve now (5xx, 429, 408, a proxy's 403). Token unused.
    case busy
    /// `invalid_grant` and its like: the authorization server itself says that the grant is dead.
    case grantDead = "grant_dead"
    /// A code that the protocol defines as the end of the session. Final at once, nothing to confirm.
    case sessionOver = "session_over"
    /// The server wants the person: consent, a second factor, `access_denied`. Final at once.
    case interactionRequired = "interaction_required"
    /// A bare 400/401 or `invalid_request`: some servers' way of refusing a dead token.
    case unexplained
    /// `invalid_client`, `unauthorized_client`, …: fix the configuration; the refresh token stays good.
    case misconfigured
    /// `invalid_scope` or `invalid_target`: only the asked variant cannot be had.
    case variantRefused = "variant_refused"
    /// The ID token of a refresh names someone else: nothing is served until a person acts.
    case identityChanged = "identity_changed"
    /// No place on disk for the answer, so nothing was sent.
    case storage
}
