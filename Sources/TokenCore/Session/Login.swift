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
        /// What helps, where that is not a change of the configuration.
        var remedy: String?
        var until: Instant
    }

    var renewal: Renewal
    /// The refresh token before the one of ``renewal``, kept until that has worked: it came in a damaged response.
    var formerRefreshToken: SecretID?
    var use: RefreshTokenUse
    var tokens: [TokenVariant: AccessToken]
    var refusals: [TokenVariant: Refusal] = [:]
    var loggedInAt: Instant
    /// The same moment, as the wall clock showed it then; only for showing.
    var loggedInTime: WallTime
    /// When its refresh token ends, where that is known.
    var end: LoginEnd?
    /// The end that a person has been warned about.
    var noticedEnd: Instant?
    /// The tokens that servers have refused.
    var refused = RefusedTokens()
    var coexistence = TokenCoexistence.unknown
    var rotation: RotationHabit
    var tokenEndpoint: String
    var subject: String?
    var account: String?
    var keptMembers: [String: String]
    /// The key that the tokens are bound to (RFC 9449); made for this login and gone with it.
    var proofKey: SecretID?
    /// What the login found out about its server.
    var server: DiscoveredServer?
    /// What its tokens are made of (``SessionPolicy/madeOf``); `nil`: not known.
    var madeOf: String?
    /// How many starts of the agent in a row found an interrupted refresh; 0 again as soon as one has ended.
    var interruptions = 0
    /// Whether its record is from before a reboot, so that the wall clock alone says how old it is.
    var isDatedByWallClock = false
    /// What a person should know about the latest answer for each of its tokens; no entry where there is nothing.
    var remarks: [TokenVariant: [GrantWarning]] = [:]

    var primary: AccessToken? { tokens[.primary] }

    /// When its own token ends, or without one the last of the others; `nil` also for a token without end.
    var tokenExpiresAt: Instant? {
        guard primary == nil else { return primary?.expiresAt }
        return tokens.values.compactMap(\.expiresAt).max()
    }

    /// When its refresh token ends, for certain or not.
    var knownEnd: Instant? {
        guard case .refreshToken = renewal else { return nil }
        return end?.at
    }

    /// When its refresh token ends for certain, so that it is not sent after that.
    var certainEnd: Instant? { end?.source == .told ? knownEnd : nil }

    /// Every secret it names.
    var secrets: Set<SecretID> {
        var all: Set<SecretID> = []
        if case .refreshToken(let secret) = renewal { all.insert(secret) }
        if let formerRefreshToken { all.insert(formerRefreshToken) }
        if let proofKey { all.insert(proofKey) }
        for token in tokens.values {
            all.insert(token.secret)
            if let idToken = token.idToken { all.insert(idToken.secret) }
        }
        return all
    }

    /// A login as the server granted it at `moment`.
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
        end = tokens.refreshLifetime.map { LoginEnd($0, at: tokens.requestedAt) }
        rotation = .unknown(unchanged: 0)
        tokenEndpoint = grant.tokenEndpoint
        subject = grant.subject
        account = grant.account
        keptMembers = tokens.keptMembers
        proofKey = grant.proofKey
        server = grant.server
        if !tokens.remarks.isEmpty { remarks = [.primary: tokens.remarks] }
    }

    /// What stands for a login where none is needed, before its first tokens come.
    init(startingAt moment: Moment, of madeOf: String?) {
        renewal = .anew
        use = .unsent
        tokens = [:]
        loggedInAt = moment.now
        loggedInTime = moment.wallTime
        rotation = .unknown(unchanged: 0)
        tokenEndpoint = ""
        keptMembers = [:]
        self.madeOf = madeOf
    }

    /// It stands for a login, and its first tokens have not come.
    var isWithoutTokens: Bool { renewal == .anew && tokens.isEmpty }

    /// A login as it was stored.
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
                LoginEnd(at: end, since: loggedInAt, lifetime: end - loggedInAt)
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

    /// The login after the answer to `attempt`, and the secrets it no longer needs.
    func refreshed(
        _ granted: GrantedTokens,
        by attempt: Attempt,
        roles: RoleTokens,
        keepsFormer: Bool = true,
        jitter: Double
    ) -> (Login, Set<SecretID>) {
        let variant = attempt.variant
        var next = self
        if renewal == .anew, tokens.isEmpty { next.begin(at: granted.requestedAt) }
        next.interruptions = 0
        if isDatedByWallClock {
            // The server took the login, and its clock tells how far ours is ahead.
            next.isDatedByWallClock = false
            let behind = .zero - (granted.serverClockAhead ?? .zero)
            if behind > ClockOffset.smallestStep {
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
        // The one that was sent has worked; where its successor may have been misread, it is kept for a last try.
        next.formerRefreshToken = isRotated && granted.isSalvaged && keepsFormer ? refreshToken : nil
        if let replacement = granted.refreshToken {
            next.renewal = .refreshToken(replacement)
            next.use = granted.refreshTokenUnchanged ? .answered : .unsent
        }
        // An answer that was had for the login's own token says nothing about the login.
        if attempt.usesRefreshToken || renewal == .anew {
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

    /// Begins with the first tokens of a session that starts by itself: it may have waited for its source, which began
    /// before what is made from it.
    private mutating func begin(at instant: Instant) {
        loggedInTime = loggedInTime + (instant - loggedInAt)
        loggedInAt = instant
    }

    /// When the login ends after an answer that named this lifetime for its refresh token, or none.
    private func end(told: RefreshLifetime?, at now: Instant, isChanged: Bool) -> LoginEnd? {
        guard let end else { return told.map { LoginEnd($0, at: now) } }
        return end.refreshed(told, at: now, isChanged: isChanged)
    }

    /// The login with the refresh token of an answer that brought nothing else, and the secrets it no longer needs.
    ///
    /// With `keepsFormer` the one that was sent is kept for a last try, as its successor may not be one.
    func renewed(by saved: SavedRenewal, keepsFormer: Bool) -> (Login, Set<SecretID>) {
        var next = self
        next.formerRefreshToken = keepsFormer ? refreshToken : nil
        next.renewal = .refreshToken(saved.refreshToken)
        next.use = .unsent
        next.interruptions = 0
        next.rotation = rotation.observing(changed: true)
        next.end = end(told: saved.refreshLifetime, at: saved.requestedAt, isChanged: true)
        return (next, secrets.subtracting(next.secrets))
    }

    /// What a new login may want to know of this one.
    var present: CurrentLogin {
        CurrentLogin(scope: primary?.scope ?? [], subject: subject, server: server)
    }

    /// Whether it has been renewed with a refresh token, so that the server knows its client and took its tokens.
    var hasRefreshed: Bool { rotation != .unknown(unchanged: 0) }

    var hasRefreshToken: Bool { refreshToken != nil }

    private var refreshToken: SecretID? {
        if case .refreshToken(let secret) = renewal { secret } else { nil }
    }

    /// The login with the refresh token that it had before, or `nil` if that has not been kept.
    ///
    /// It is for a server that rejects the present one, which was read from a damaged response.
    var withFormerRefreshToken: Login? {
        guard let formerRefreshToken else { return nil }
        var login = self
        login.renewal = .refreshToken(formerRefreshToken)
        login.formerRefreshToken = nil
        login.use = .unanswered
        return login
    }

    /// The remarks on all of its tokens, those on the login's own first.
    var allRemarks: [GrantWarning] {
        let others = remarks.filter { $0.key != .primary }.values.flatMap(\.self)
        return (remarks[.primary] ?? [])
            + others.sorted { $0.message.utf8.lexicographicallyPrecedes($1.message.utf8) }
    }

    /// Everything to be said about the token of `variant`, in one sentence; `nil`: nothing.
    func remarks(on variant: TokenVariant) -> String? {
        let all = remarks[variant] ?? []
        return all.isEmpty ? nil : all.map(\.message).joined(separator: "; ")
    }

    func snapshot(standing: SessionSnapshot.Standing, at moment: Moment) -> SessionSnapshot {
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

    /// Notes the stated end of each token (``TokenValidity/statedEnd``).
    mutating func setStatedEnds(_ ends: [SecretID: WallTime], at moment: Moment) {
        for (variant, token) in tokens {
            tokens[variant]?.statedEnd = ends[token.secret].map(moment.instant(at:))
            guard let idToken = token.idToken else { continue }
            tokens[variant]?.idToken?.life.statedEnd = ends[idToken.secret].map(moment.instant(at:))
        }
    }

    /// Moves the times that came from the record to later ones, but none past the start of the agent.
    ///
    /// The tokens are refreshed before they are served again, as the present wall clock time may be the wrong one.
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
    /// Assumed for servers that name no lifetime: short enough to be true nearly everywhere.
    package static let assumedLifetime = Duration.seconds(3_600)

    /// The token of an answer; what the answer leaves out is as before.
    init(
        _ granted: GrantedTokens,
        for variant: TokenVariant,
        replacing previous: AccessToken?,
        isRenewable: Bool,
        jitter: Double
    ) {
        // A token that cannot be renewed and names no life is good until a server refuses it.
        let lifetime = granted.lifetime ?? (isRenewable ? AccessToken.assumedLifetime : nil)
        // Silence means the scope that was asked for (RFC 6749 §5.1).
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
