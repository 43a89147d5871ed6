// SPDX-License-Identifier: MIT

/// An ID token, kept beside the access token that it came with or that came after it.
package struct IDToken: Equatable, Sendable {
    package var secret: SecretID
    /// Its own, which is not that of the access token beside it.
    package var life: TokenValidity

    package init(secret: SecretID, life: TokenValidity) {
        self.secret = secret
        self.life = life
    }
}

/// From when on a token is there, and when it ends.
package struct TokenValidity: Equatable, Sendable {
    /// Taken before the request was sent, so that the token never looks younger than it is.
    package var obtainedAt: Instant
    /// `nil`: without end, as far as known.
    package var expiresAt: Instant?
    /// A JWT's own `exp`, as the wall clock stood at its latest step; `nil` if the clock has not stepped.
    package var statedEnd: Instant?

    package init(obtainedAt: Instant, expiresAt: Instant?, statedEnd: Instant? = nil) {
        self.obtainedAt = obtainedAt
        self.expiresAt = expiresAt
        self.statedEnd = statedEnd
    }

    /// `nil`: without end, as far as known.
    package var lifetime: Duration? { expiresAt.map { $0 - obtainedAt } }

    /// Whether there is at least `life` left.
    package func lasts(_ life: Duration, from now: Instant) -> Bool {
        [expiresAt, statedEnd].compactMap(\.self).allSatisfy { $0 - now >= life }
    }
}
