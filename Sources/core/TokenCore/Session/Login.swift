// SPDX-License-Identifier: MIT

import Text

/// A live login: its tokens, the means to renew them, and everything known about it.
struct Login: Equatable, Sendable {
    /// The use of the current refresh token so far.
    enum RefreshTokenSendState: Equatable, Sendable {
        /// The refresh token was never sent since it was stored.
        case unsent
        /// The refresh token was sent, and every response arrived.
        case answered
        /// The refresh token was sent, and a response is missing. The server may have replaced the token.
        case unanswered
    }

    /// A rejection by the server of a token for one ``TokenVariant``, and the time until which that token is
    /// not requested again.
    struct VariantRejection: Equatable, Sendable {
        var message: String
        /// The advice, or `nil` for a role that needs a change of the configuration.
        var remedy: Remedy?
        var until: Instant
    }

    var renewal: RenewalMethod
    /// The refresh token before the one of ``renewal``, kept until the new one has worked.
    ///
    /// The new one came in a damaged response.
    var formerRefreshToken: SecretID?
    var use: RefreshTokenSendState
    var tokens: [TokenVariant: AccessToken]
    var refusals: [TokenVariant: VariantRejection] = [:]
    var loggedInAt: Instant
    /// The wall-clock time of ``loggedInAt``, as shown at that moment.
    ///
    /// For display only.
    var loggedInTime: WallTime
    /// The expiry of the refresh token, if it is known.
    var end: LoginExpiry?
    /// The end of the login that the user has been warned about.
    var noticedEnd: Instant?
    /// The tokens that servers have rejected.
    var refused = RejectedTokens()
    var coexistence = TokenCoexistence.unknown
    var rotation: RotationHabit
    var tokenEndpoint: String
    var subject: String?
    var account: String?
    var keptMembers: [String: String]
    /// The key that the tokens are bound to (RFC 9449).
    ///
    /// It is created and erased with this login.
    var proofKey: SecretID?
    /// The server data that the login discovered.
    var server: DiscoveredServer?
    /// The source of the tokens (``SessionPolicy/madeOf``), or `nil` if unknown.
    var madeOf: String?
    /// The number of consecutive agent starts that found an interrupted refresh.
    ///
    /// Reset to 0 when a refresh finishes.
    var interruptions = 0
    /// Whether the record is from before a reboot, so that only the wall clock tells its age.
    var isDatedByWallClock = false
    /// Warnings about the latest response for each token.
    ///
    /// Tokens without warnings have no entry.
    var remarks: [TokenVariant: [GrantWarning]] = [:]

    var primary: AccessToken? { tokens[.primary] }

    /// The expiry of the login's own token, or without one the latest expiry of the others.
    ///
    /// It is also `nil` for a token without expiry.
    var tokenExpiresAt: Instant? {
        guard primary == nil else { return primary?.expiresAt }
        return tokens.values.compactMap(\.expiresAt).max()
    }

    /// The expiry of the refresh token, certain or presumed.
    var knownEnd: Instant? {
        guard case .refreshToken = renewal else { return nil }
        return end?.at
    }

    /// The certain expiry of the refresh token, which is not sent after it.
    var certainEnd: Instant? { end?.source == .told ? knownEnd : nil }

    /// Every secret that the login names.
    var secrets: Set<SecretID> {
        let own = [renewal.refreshToken, formerRefreshToken, proofKey]
        let served = tokens.values.flatMap { [$0.secret, $0.idToken?.secret] }
        return Set((own + served).compactMap(\.self))
    }

    /// Creates a login from the server's grant at `moment`.
    init(_ grant: LoginGrant, jitter: Double, at moment: Moment) {
        let tokens = grant.tokens
        renewal = grant.renewal
        use = .unsent
        let token = AccessToken(
            tokens,
            for: .primary,
            replacing: nil,
            isRenewable: grant.renewal != .impossible,
            jitter: jitter
        )
        self.tokens = [.primary: token]
        loggedInAt = tokens.requestedAt
        loggedInTime = moment.wallTime(at: tokens.requestedAt)
        end = tokens.refreshLifetime.map { LoginExpiry($0, at: tokens.requestedAt) }
        rotation = .unknown(unchanged: 0)
        tokenEndpoint = grant.tokenEndpoint
        subject = grant.subject
        account = grant.account
        keptMembers = tokens.keptMembers
        proofKey = grant.proofKey
        server = grant.server
        if !tokens.remarks.isEmpty { remarks = [.primary: tokens.remarks] }
    }

    /// Creates the substitute for a login where none is needed, before its first tokens arrive.
    init(startingAt moment: Moment, of madeOf: String?) {
        renewal = .withoutLogin
        use = .unsent
        tokens = [:]
        loggedInAt = moment.now
        loggedInTime = moment.wallTime
        rotation = .unknown(unchanged: 0)
        tokenEndpoint = ""
        keptMembers = [:]
        self.madeOf = madeOf
    }

    /// Whether this is the substitute for a login, and its first tokens have not arrived.
    var isWithoutTokens: Bool { renewal == .withoutLogin && tokens.isEmpty }

    /// Creates a login from its record.
    init(_ snapshot: SessionSnapshot, at moment: Moment) {
        renewal = snapshot.renewal
        formerRefreshToken = snapshot.formerRefreshToken
        use = snapshot.refreshTokenSent ? .unanswered : .unsent
        tokens = snapshot.tokens
        let loggedInAt = snapshot.loginBegan ?? moment.instant(at: snapshot.loggedInAt)
        self.loggedInAt = loggedInAt
        loggedInTime = snapshot.loggedInAt
        // Older records have only the time.
        end =
            snapshot.end
            ?? snapshot.refreshExpiresAt.map(moment.instant(at:)).map { end in
                LoginExpiry(at: end, since: loggedInAt, lifetime: end - loggedInAt)
            }
        noticedEnd = snapshot.noticedEnd
        refused = snapshot.refused
        coexistence = snapshot.coexistence
        rotation = snapshot.rotation
        tokenEndpoint = snapshot.tokenEndpoint
        subject = snapshot.subject
        account = snapshot.account
        keptMembers = snapshot.keptMembers
        proofKey = snapshot.proofKey
        server = snapshot.server
        madeOf = snapshot.madeOf
        interruptions = snapshot.interruptions
        isDatedByWallClock = snapshot.isDatedByWallClock
    }

    /// Returns the login after the response to `attempt`, and the secrets it no longer needs.
    func refreshed(
        _ granted: GrantedTokens,
        by attempt: Attempt,
        roles: AWSRoleTokens,
        keepsFormer: Bool = true,
        jitter: Double
    ) -> (Login, Set<SecretID>) {
        let variant = attempt.variant
        var next = self
        if renewal == .withoutLogin, tokens.isEmpty { next.begin(at: granted.requestedAt) }
        next.interruptions = 0
        if isDatedByWallClock {
            // The server accepted the login, and its clock tells by how much the local clock is ahead.
            next.isDatedByWallClock = false
            let behind = .zero - (granted.serverClockAhead ?? .zero)
            if behind > WallClockOffset.smallestStep {
                next.loggedInAt = min(loggedInAt + behind, granted.requestedAt)
            }
        }
        let isRotated = granted.refreshToken != nil && !granted.refreshTokenUnchanged
        next.tokens[variant] = successor(of: variant, granted, jitter: jitter)
        if isRotated, roles != .variants { next.markOthersDoubtful(besides: variant) }
        if attempt.usesRefreshToken {
            next.rotation = rotation.observing(changed: isRotated)
            next.use = .answered
        }
        // The token that was sent has worked. If its successor may have been misread, it is kept for a last
        // attempt.
        next.formerRefreshToken = isRotated && granted.isSalvaged && keepsFormer ? renewal.refreshToken : nil
        if let replacement = granted.refreshToken {
            next.renewal = .refreshToken(replacement)
            next.use = granted.refreshTokenUnchanged ? .answered : .unsent
        }
        // A response obtained with the login's own access token says nothing about the login.
        if attempt.usesRefreshToken || renewal == .withoutLogin {
            next.end = end(told: granted.refreshLifetime, at: granted.requestedAt, isChanged: isRotated)
        }
        if let origin = granted.origin {
            next.tokenEndpoint = origin.tokenEndpoint
            next.proofKey = origin.proofKey
            next.server = origin.server
        }
        next.keptMembers.merge(granted.keptMembers) { _, new in new }
        next.remarks = remarks.filter { next.tokens[$0.key] != nil }
        next.remarks[variant] = granted.remarks.isEmpty ? nil : granted.remarks
        return (next, secrets.subtracting(next.secrets))
    }

    /// Begins with the first tokens of a session that starts by itself.
    ///
    /// It may have waited for its source, which began before the tokens made from it.
    private mutating func begin(at instant: Instant) {
        loggedInTime = loggedInTime + (instant - loggedInAt)
        loggedInAt = instant
    }

    /// Returns the end of the login after a response that named this refresh token lifetime, or none.
    private func end(told: RefreshLifetime?, at now: Instant, isChanged: Bool) -> LoginExpiry? {
        guard let end else { return told.map { LoginExpiry($0, at: now) } }
        return end.refreshed(told, at: now, isChanged: isChanged)
    }

    /// Returns the login with the refresh token of a response without other tokens, and the secrets it no
    /// longer needs.
    ///
    /// With `keepsFormer` the token that was sent is kept for a last attempt, because its successor may not
    /// be a token.
    func renewed(by saved: RescuedRefreshToken, keepsFormer: Bool) -> (Login, Set<SecretID>) {
        var next = self
        next.formerRefreshToken = keepsFormer ? renewal.refreshToken : nil
        next.renewal = .refreshToken(saved.refreshToken)
        next.use = .unsent
        next.interruptions = 0
        next.rotation = rotation.observing(changed: true)
        next.end = end(told: saved.refreshLifetime, at: saved.requestedAt, isChanged: true)
        return (next, secrets.subtracting(next.secrets))
    }

    /// The data of this login that a new one may need.
    var present: PreviousLogin {
        PreviousLogin(scope: primary?.scope ?? [], subject: subject, server: server)
    }

    /// Whether the login has been renewed with a refresh token.
    ///
    /// The server then knows the client and has accepted the login's tokens.
    var hasRefreshed: Bool { rotation != .unknown(unchanged: 0) }

    var hasRefreshToken: Bool { renewal.refreshToken != nil }

    /// The login with its previous refresh token, or `nil` if that has not been kept.
    ///
    /// It is used when a server rejects the current one, which was read from a damaged response.
    var withFormerRefreshToken: Login? {
        guard let formerRefreshToken else { return nil }
        var login = self
        login.renewal = .refreshToken(formerRefreshToken)
        login.formerRefreshToken = nil
        login.use = .unanswered
        return login
    }

    /// The warnings about all of its tokens, those about the login's own first.
    var allRemarks: [GrantWarning] {
        let others = remarks.filter { $0.key != .primary }.values.flatMap(\.self)
        return (remarks[.primary] ?? [])
            + others.sorted { $0.message.utf8.lexicographicallyPrecedes($1.message.utf8) }
    }

    /// Returns all warnings about the token of `variant` in one sentence, or `nil` if there are none.
    func remarks(on variant: TokenVariant) -> String? {
        let all = remarks[variant] ?? []
        return all.isEmpty ? nil : all.map(\.message).joined(separator: "; ")
    }

    func snapshot(standing: SessionSnapshot.LoginState, at moment: Moment) -> SessionSnapshot {
        SessionSnapshot(
            standing: standing,
            renewal: renewal,
            formerRefreshToken: formerRefreshToken,
            refreshTokenSent: use == .unanswered,
            tokens: tokens,
            loggedInAt: loggedInTime,
            loginBegan: loggedInAt,
            refreshExpiresAt: certainEnd.map(moment.wallTime(at:)),
            end: end,
            noticedEnd: noticedEnd,
            refused: refused,
            coexistence: coexistence,
            rotation: rotation,
            tokenEndpoint: tokenEndpoint,
            subject: subject,
            account: account,
            keptMembers: keptMembers,
            proofKey: proofKey,
            server: server,
            madeOf: madeOf,
            interruptions: interruptions
        )
    }
}

/// Steps of the wall clock.
extension Login {
    /// Marks every token as possibly expired.
    mutating func doubtAges() {
        for variant in tokens.keys where tokens[variant]?.isRefused == false {
            tokens[variant]?.standing = .possiblyExpired
        }
    }

    /// Sets the stated end of each token (``ValidityPeriod/statedEnd``).
    mutating func setStatedEnds(_ ends: [SecretID: WallTime], at moment: Moment) {
        for (variant, token) in tokens {
            tokens[variant]?.statedEnd = ends[token.secret].map(moment.instant(at:))
            guard let idToken = token.idToken else { continue }
            tokens[variant]?.idToken?.life.statedEnd = ends[idToken.secret].map(moment.instant(at:))
        }
    }

    /// Moves the times from the record to later ones, but not past the start of the agent.
    ///
    /// The tokens are refreshed before they are served again, because the current wall-clock time may be
    /// wrong.
    mutating func makeYounger(by step: Duration, restoredAt: Instant) {
        func moved(_ instant: Instant, since start: Instant) -> Instant {
            instant + min(step, max(.zero, restoredAt - start))
        }
        for (variant, token) in tokens where token.obtainedAt < restoredAt {
            tokens[variant]?.obtainedAt = moved(token.obtainedAt, since: token.obtainedAt)
            tokens[variant]?.expiresAt = token.expiresAt.map { moved($0, since: token.obtainedAt) }
            if let life = token.idToken?.life, life.obtainedAt < restoredAt {
                tokens[variant]?.idToken?.life.obtainedAt = moved(life.obtainedAt, since: life.obtainedAt)
                tokens[variant]?.idToken?.life.expiresAt = life.expiresAt.map {
                    moved($0, since: life.obtainedAt)
                }
            }
            if !token.isRefused { tokens[variant]?.standing = .possiblyExpired }
        }
        if let end, end.since < restoredAt {
            self.end?.at = moved(end.at, since: end.since)
            self.end?.since = moved(end.since, since: end.since)
        }
        loggedInAt = moved(loggedInAt, since: loggedInAt)
    }
}

extension AccessToken {
    /// The lifetime assumed for servers that name none, an hour.
    ///
    /// It is short enough to be true nearly everywhere.
    package static let assumedLifetime = Duration.seconds(3_600)

    /// Creates the token of a response.
    ///
    /// Missing members keep their previous values.
    init(
        _ granted: GrantedTokens,
        for variant: TokenVariant,
        replacing previous: AccessToken?,
        isRenewable: Bool,
        jitter: Double
    ) {
        // A token that cannot be renewed and names no lifetime is valid until a server rejects it.
        let lifetime = granted.lifetime ?? (isRenewable ? AccessToken.assumedLifetime : nil)
        // A response without a scope grants the requested one (RFC 6749 §5.1).
        let asked = variant.scopes.isEmpty ? previous?.scope ?? [] : variant.scopes
        self.init(
            secret: granted.accessToken,
            idToken: granted.idToken ?? previous?.idToken,
            tokenType: granted.tokenType,
            serverTokenType: granted.serverTokenType,
            scope: granted.scope ?? asked,
            obtainedAt: granted.requestedAt,
            expiresAt: lifetime.map { granted.requestedAt + $0 },
            jitter: jitter
        )
    }
}
