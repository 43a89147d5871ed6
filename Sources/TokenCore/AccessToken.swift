// SPDX-License-Identifier: MIT

/// An access token that may be served, and everything known about it but its bytes.
package struct AccessToken: Equatable, Sendable {
    package var secret: SecretID
    /// The ID token of the same answer, or of the latest answer that had one.
    package var idToken: SecretID?
    /// As the server wrote it, for example `Bearer` (RFC 6749 §7.1).
    package var tokenType: String
    /// Granted scopes in the server's order (RFC 6749 §5.1).
    package var scope: [String]
    /// Taken before the request was sent, so that the token never looks younger than it is.
    package var obtainedAt: Instant
    package var expiresAt: Instant
    /// In `0..<1`, drawn once per token: how much of the jitter window its refresh is brought forward by.
    package var jitter: Double

    package init(
        secret: SecretID,
        idToken: SecretID?,
        tokenType: String,
        scope: [String],
        obtainedAt: Instant,
        expiresAt: Instant,
        jitter: Double
    ) {
        self.secret = secret
        self.idToken = idToken
        self.tokenType = tokenType
        self.scope = scope
        self.obtainedAt = obtainedAt
        self.expiresAt = expiresAt
        self.jitter = jitter
    }

    package var lifetime: Duration { expiresAt - obtainedAt }

    package func remaining(at now: Instant) -> Duration { expiresAt - now }
}
