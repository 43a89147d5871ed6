// SPDX-License-Identifier: MIT

/// An ID token, stored with the access token of the same or an earlier response.
package struct IDToken: Equatable, Sendable {
    package var secret: SecretID
    /// The ID token's own validity, which is not that of the access token.
    package var life: ValidityPeriod

    package init(secret: SecretID, life: ValidityPeriod) {
        self.secret = secret
        self.life = life
    }
}

/// The time from which a token is valid, and its expiry.
package struct ValidityPeriod: Equatable, Sendable {
    /// The time just before the request was sent, so that the token never looks younger than it is.
    package var obtainedAt: Instant
    /// The expiry, or `nil` if none is known.
    package var expiresAt: Instant?
    /// The `exp` of a JWT by the wall clock at its latest step, or `nil` if the clock has not stepped.
    var statedEnd: Instant?

    package init(obtainedAt: Instant, expiresAt: Instant?, statedEnd: Instant? = nil) {
        self.obtainedAt = obtainedAt
        self.expiresAt = expiresAt
        self.statedEnd = statedEnd
    }

    /// The time from issue to expiry, or `nil` if no expiry is known.
    package var lifetime: Duration? { expiresAt.map { $0 - obtainedAt } }

    /// Returns whether the remaining validity at `now` is at least `life`.
    package func lasts(_ life: Duration, from now: Instant) -> Bool {
        [expiresAt, statedEnd].compactMap(\.self).allSatisfy { $0 - now >= life }
    }
}
