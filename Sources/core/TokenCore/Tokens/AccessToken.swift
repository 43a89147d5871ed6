// SPDX-License-Identifier: MIT

/// An access token that may be served, with everything known about it except its bytes.
///
/// The bytes are in sealed memory under ``secret``. Nothing in this folder contains secret bytes, so all
/// values can be printed and compared.
///
/// - Entry points: ``TokenVariant`` names a token of a session, ``TokenRequirements`` a request for one,
///   ``GrantedTokens`` a response.
package struct AccessToken: Equatable, Sendable {
    /// The known acceptance of the token by servers.
    package enum Acceptance: Equatable, Sendable {
        /// Nothing suggests that servers reject the token. Next: `doubtful`, `refused`.
        case good
        /// A newer token of the login was issued, and the server may have ended this one.
        ///
        /// The token is refreshed at the next request for it. Next: `onTrial`, `refused`, or `good` when a
        /// trial shows that several tokens of a login can be valid at the same time.
        case doubtful
        /// The token was served while doubtful, to a requester that reports rejections immediately.
        ///
        /// Next: `good` if no rejection is reported, `refused` if one is, `doubtful` if another token is
        /// issued first.
        case onTrial(since: Instant)
        /// The wall clock has stepped forward since the token was obtained.
        ///
        /// The token may be older than the boot-time clock tells. It is refreshed before it is served. If
        /// refreshing fails for a while, it is served anyway. Next: `refused`, or another token.
        case possiblyExpired
        /// A server rejected the token. It is never served again, and kept only because a refresh may need
        /// it.
        ///
        /// `isRepeat` means that the authorization server issued the same token again.
        case refused(isRepeat: Bool)

        var isInDoubt: Bool {
            switch self {
            case .doubtful, .onTrial, .possiblyExpired: true
            case .good, .refused: false
            }
        }
    }

    package var secret: SecretID
    /// The ID token of the same response, or of the latest response that contained one.
    package var idToken: IDToken?
    /// The authorization scheme used with the token, for example `Bearer` (RFC 6749 §7.1).
    package var tokenType: String
    /// The server's name for ``tokenType``, if it differs.
    package var serverTokenType: String?
    /// The granted scopes in the server's order (RFC 6749 §5.1).
    package var scope: [String]
    /// The time just before the request was sent, so that the token never looks younger than it is.
    package var obtainedAt: Instant
    /// The expiry, or `nil` if the server named no lifetime and the token cannot be renewed.
    ///
    /// A token without an expiry is served until a server rejects it.
    package var expiresAt: Instant?
    /// The `exp` of a JWT by the wall clock at its latest step, or `nil` if the clock has not stepped.
    var statedEnd: Instant?
    /// The fraction of the jitter window by which the refresh is brought forward, in `0..<1`.
    ///
    /// Drawn once per token.
    package var jitter: Double
    package var standing: Acceptance
    /// The number of preceding tokens that were rejected soon after they were obtained.
    package var refusedBefore: Int

    package init(
        secret: SecretID,
        idToken: IDToken?,
        tokenType: String,
        serverTokenType: String? = nil,
        scope: [String],
        obtainedAt: Instant,
        expiresAt: Instant?,
        jitter: Double,
        standing: Acceptance = .good,
        refusedBefore: Int = 0
    ) {
        self.secret = secret
        self.idToken = idToken
        self.tokenType = tokenType
        self.serverTokenType = serverTokenType
        self.scope = scope
        self.obtainedAt = obtainedAt
        self.expiresAt = expiresAt
        self.jitter = jitter
        self.standing = standing
        self.refusedBefore = refusedBefore
    }

    package var life: ValidityPeriod {
        ValidityPeriod(obtainedAt: obtainedAt, expiresAt: expiresAt, statedEnd: statedEnd)
    }

    /// The time from issue to expiry, or `nil` if no expiry is known.
    package var lifetime: Duration? { life.lifetime }

    /// Returns the validity of the served token: that of the ID token if `isID`, unless it names no expiry.
    package func life(isID: Bool) -> ValidityPeriod {
        guard isID, let idToken, idToken.life.expiresAt != nil else { return life }
        return idToken.life
    }

    /// Whether the response had no ID token, so that ``idToken`` is from an earlier response.
    private var hasEarlierIDToken: Bool { idToken.map { $0.life.obtainedAt < obtainedAt } ?? false }

    /// Whether the response contained no usable ID token: none, or one that had already expired.
    var lacksNewIDToken: Bool {
        let hadEnded = idToken.map { !$0.life.lasts(.nanoseconds(1), from: $0.life.obtainedAt) } ?? false
        return hadEnded || hasEarlierIDToken
    }

    package var isRefused: Bool {
        if case .refused = standing { true } else { false }
    }

    /// The earliest moment to replace the token after a rejection.
    ///
    /// A server that rejects every token must not make the agent refresh at the rate of the requests.
    var replaceableAt: Instant {
        guard refusedBefore > 0 else { return obtainedAt }
        let isRepeat = standing == .refused(isRepeat: true)
        let delay = RetrySchedule.replacementPause(refusedBefore: refusedBefore, isRepeat: isRepeat)
        return obtainedAt + min(delay, lifetime.map { max(.seconds(1), $0 / 3) } ?? delay)
    }

    /// Records that a server rejected the token at `now`.
    ///
    /// If the token was accepted for a while, the rejection says nothing about its successor.
    mutating func refuse(at now: Instant) {
        guard !isRefused else { return }
        if now >= replaceableAt { refusedBefore = 0 }
        standing = .refused(isRepeat: false)
    }
}
