// SPDX-License-Identifier: MIT

/// One login while it lives: its tokens, how to renew them, and what is known about it.
struct Login: Equatable, Sendable {
    /// What happened to the present refresh token so far.
    enum RefreshTokenUse: Equatable, Sendable {
        /// Never sent since it was stored.
        case unsent
        /// Sent, and every answer arrived.
        case answered
        /// Sent, and an answer is missing: the server may have replaced it.
        case unanswered
    }

    /// A variant the server refused, and until when it is not asked for again.
    struct Refusal: Equatable, Sendable {
        var message: String
        var until: Instant
    }

    var renewal: Renewal
    var use: RefreshTokenUse
    var tokens: [TokenVariant: AccessToken]
    var refusals: [TokenVariant: Refusal] = [:]
    var loggedInAt: Instant
    var refreshExpiresAt: Instant?
    var rotation: RotationHabit
    var tokenEndpoint: String
    var subject: String?
    var account: String?
    var keptMembers: [String: String]
    /// The key that the tokens are bound to (RFC 9449); made for this login and gone with it.
    var proofKey: SecretID?
    /// Starts of the agent in a row that found a refresh without its end; over as soon as one has ended.
    var interruptions = 0

    var primary: AccessToken? { tokens[.primary] }

    /// When the last of its tokens ends.
    var tokenExpiresAt: Instant? { primary?.expiresAt ?? tokens.values.map(\.expiresAt).max() }

    /// Every secret it names.
    var secrets: Set<SecretID> {
        var all: Set<SecretID> = []
        if case .refreshToken(let secret) = renewal { all.insert(secret) }
        if let proofKey { all.insert(proofKey) }
        for token in tokens.values {
            all.insert(token.secret)
            if let idToken = token.idToken { all.insert(idToken) }
        }
        return all
    }

    /// A login as the server just granted it.
    init(_ grant: LoginGrant, jitter: Double) {
        let tokens = grant.tokens
        renewal = grant.renewal
        use = .unsent
        self.tokens = [.primary: AccessToken(tokens, for: .primary, replacing: nil, jitter: jitter)]
        loggedInAt = tokens.requestedAt
        refreshExpiresAt = tokens.refreshLifetime.map { tokens.requestedAt + $0 }
        rotation = .unknown(unchanged: 0)
        tokenEndpoint = grant.tokenEndpoint
        subject = grant.subject
        account = grant.account
        keptMembers = tokens.keptMembers
        proofKey = grant.proofKey
    }

    /// A login as it was stored.
    init(_ snapshot: SessionSnapshot, at moment: Moment) {
        renewal = snapshot.renewal
        use = snapshot.refreshTokenSent ? .unanswered : .unsent
        tokens = snapshot.tokens
        loggedInAt = moment.instant(at: snapshot.loggedInAt)
        refreshExpiresAt = snapshot.refreshExpiresAt.map(moment.instant(at:))
        rotation = snapshot.rotation
        tokenEndpoint = snapshot.tokenEndpoint
        subject = snapshot.subject
        account = snapshot.account
        keptMembers = snapshot.keptMembers
        proofKey = snapshot.proofKey
        interruptions = snapshot.interruptions
    }

    /// The login after a refresh of `variant`, and the secrets it no longer needs.
    func refreshed(
        _ granted: GrantedTokens,
        for variant: TokenVariant,
        jitter: Double
    ) -> (Login, Set<SecretID>) {
        var next = self
        next.interruptions = 0
        let previous = tokens[variant] ?? primary
        next.tokens[variant] = AccessToken(granted, for: variant, replacing: previous, jitter: jitter)
        if case .refreshToken = renewal {
            next.rotation = rotation.observing(
                changed: granted.refreshToken != nil && !granted.refreshTokenUnchanged
            )
            next.use = .answered
        }
        if let replacement = granted.refreshToken {
            next.renewal = .refreshToken(replacement)
            next.use = granted.refreshTokenUnchanged ? .answered : .unsent
            next.refreshExpiresAt = nil
        }
        if let lifetime = granted.refreshLifetime { next.refreshExpiresAt = granted.requestedAt + lifetime }
        next.keptMembers.merge(granted.keptMembers) { _, new in new }
        return (next, secrets.subtracting(next.secrets))
    }

    func snapshot(standing: SessionSnapshot.Standing, at moment: Moment) -> SessionSnapshot {
        SessionSnapshot(
            standing: standing,
            renewal: renewal,
            refreshTokenSent: use == .unanswered,
            tokens: tokens,
            loggedInAt: moment.wallTime(at: loggedInAt),
            refreshExpiresAt: refreshExpiresAt.map(moment.wallTime(at:)),
            rotation: rotation,
            tokenEndpoint: tokenEndpoint,
            subject: subject,
            account: account,
            keptMembers: keptMembers,
            proofKey: proofKey,
            interruptions: interruptions
        )
    }
}

extension AccessToken {
    /// The token of an answer; what the answer leaves out is as before.
    fileprivate init(
        _ granted: GrantedTokens,
        for variant: TokenVariant,
        replacing previous: AccessToken?,
        jitter: Double
    ) {
        // Silence means the scope that was asked for (RFC 6749 §5.1).
        let asked = variant.scopes.isEmpty ? previous?.scope ?? [] : variant.scopes
        self.init(
            secret: granted.accessToken,
            idToken: granted.idToken ?? previous?.idToken,
            tokenType: granted.tokenType,
            scope: granted.scope ?? asked,
            obtainedAt: granted.requestedAt,
            expiresAt: granted.requestedAt + granted.lifetime,
            jitter: jitter
        )
    }
}
