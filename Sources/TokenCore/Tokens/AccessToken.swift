// SPDX-License-Identifier: MIT

/// An access token that may be served, and everything known about it but its bytes.
package struct AccessToken: Equatable, Sendable {
    /// Whether servers still take it, as far as known.
    package enum Standing: Equatable, Sendable {
        /// Nothing speaks against it. Next: `doubtful`, `refused`.
        case good
        /// Another token of the login has come since, and the server may have ended this one; it is renewed
        /// when next asked for. Next: `onTrial`, `refused`, or `good` when a trial shows that tokens live
        /// side by side.
        case doubtful
        /// Handed out in doubt to callers who report a refusal at once.
        /// Next: `good` if none comes, `refused` if one does, `doubtful` if another token comes first.
        case onTrial(since: Instant)
        /// The wall clock has stepped forward since it was obtained, so it may be older than the boot-time clock tells. It is
        /// refreshed before it is served; if that fails for a while, it is served anyway.
        /// Next: `refused`, or another token.
        case possiblyExpired
        /// A server refused it: it is never handed out again, and kept only because a refresh may need it.
        /// `isRepeat`: the authorization server gave it out once more.
        case refused(isRepeat: Bool)

        var isInDoubt: Bool {
            switch self {
            case .doubtful, .onTrial, .possiblyExpired: true
            case .good, .refused: false
            }
        }
    }

    package var secret: SecretID
    /// The ID token of the same answer, or of the latest answer that had one.
    package var idToken: IDToken?
    /// How it is shown, for example `Bearer` (RFC 6749 §7.1).
    package var tokenType: String
    /// The server's own word for that, where it is another.
    package var serverTokenType: String?
    /// Granted scopes in the server's order (RFC 6749 §5.1).
    package var scope: [String]
    /// Taken before the request was sent, so that the token never looks younger than it is.
    package var obtainedAt: Instant
    /// `nil`: the server named no life and the token cannot be renewed, so it is served until a server refuses it.
    package var expiresAt: Instant?
    /// A JWT's own `exp`, as the wall clock stood at its latest step; `nil` if the clock has not stepped.
    package var statedEnd: Instant?
    /// In `0..<1`, drawn once per token: how much of the jitter window its refresh is brought forward by.
    package var jitter: Double
    package var standing: Standing
    /// How many tokens before it were refused soon after they had come.
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
        standing: Standing = .good,
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

    package var life: TokenValidity {
        TokenValidity(obtainedAt: obtainedAt, expiresAt: expiresAt, statedEnd: statedEnd)
    }

    /// `nil`: without end, as far as known.
    package var lifetime: Duration? { life.lifetime }

    /// The life of what is handed out: of the ID token where that is wanted, unless it names no end.
    package func life(isID: Bool) -> TokenValidity {
        guard isID, let idToken, idToken.life.expiresAt != nil else { return life }
        return idToken.life
    }

    /// Whether the answer that brought it brought no ID token, so that the one beside it is of an earlier answer.
    private var hasEarlierIDToken: Bool { idToken.map { $0.life.obtainedAt < obtainedAt } ?? false }

    /// Whether the answer that brought it brought no ID token that was of use: none, or one that had already ended.
    var lacksNewIDToken: Bool {
        let hadEnded = idToken.map { !$0.life.lasts(.nanoseconds(1), from: $0.life.obtainedAt) } ?? false
        return hadEnded || hasEarlierIDToken
    }

    package var isRefused: Bool {
        if case .refused = standing { true } else { false }
    }

    /// The earliest moment to replace it after a refusal: a server that refuses every token must not make the
    /// agent refresh at the rate of the requests.
    package var replaceableAt: Instant {
        guard refusedBefore > 0 else { return obtainedAt }
        let isRepeat = standing == .refused(isRepeat: true)
        let pause = RetrySchedule.replacementPause(refusedBefore: refusedBefore, isRepeat: isRepeat)
        return obtainedAt + min(pause, lifetime.map { max(.seconds(1), $0 / 3) } ?? pause)
    }

    /// A server refused it at `now`; if it had lasted a while, that says nothing about its successor.
    mutating func refuse(at now: Instant) {
        guard !isRefused else { return }
        if now >= replaceableAt { refusedBefore = 0 }
        standing = .refused(isRepeat: false)
    }
}
