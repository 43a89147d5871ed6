// SPDX-License-Identifier: MIT

/// The part of a session that outlives the process: what the store writes and start-up restores.
package struct SessionSnapshot: Equatable, Sendable {
    /// Whether the login still stands.
    package enum Standing: Equatable, Sendable {
        case loggedIn
        /// Over, with the reason; the refresh token is erased at `quarantinedUntil`.
        case ended(EndReason, quarantinedUntil: WallTime?)
    }

    package var standing: Standing
    /// How and when it ended; `nil` while it stands, and in older records.
    package var ending: EndDetails?
    package var renewal: Renewal
    /// The refresh token before that of ``renewal``, until the new one has worked.
    package var formerRefreshToken: SecretID?
    /// The refresh token has been sent since it was stored, and the server's answer never arrived.
    package var refreshTokenSent: Bool
    package var tokens: [TokenVariant: AccessToken]
    package var loggedInAt: WallTime
    /// The moment of ``loggedInAt`` on the boot-time clock, which nobody can set; `nil` in older records.
    package var loginBegan: Instant?
    /// When the refresh token ends for certain.
    package var refreshExpiresAt: WallTime?
    /// When the refresh token ends, with all that is known about it; `nil` if unknown, and in older records.
    package var end: LoginEnd?
    /// The end that a person has been warned about.
    package var noticedEnd: Instant?
    package var refused: RefusedTokens
    package var coexistence: TokenCoexistence
    package var rotation: RotationHabit
    /// Where the refresh token may be sent (``LoginGrant/tokenEndpoint``).
    package var tokenEndpoint: String
    package var subject: String?
    /// The user name of the login, as typed, for the next login.
    package var account: String?
    package var keptMembers: [String: String]
    /// The key that the tokens are bound to (RFC 9449).
    package var proofKey: SecretID?
    /// What the login found out about its server.
    package var server: DiscoveredServer?
    /// What the tokens are made of (``SessionPolicy/madeOf``); `nil`: in older records, and those of a fleet.
    package var madeOf: String?
    /// How many starts of the agent in a row found this record in the middle of a refresh.
    package var interruptions: Int
    /// Whether this host wrote it before a reboot, so that the wall clock alone says how old it is; not stored.
    package var isDatedByWallClock = false
    /// What this host keeps of the fleet beside it; `nil`: the session is this host's alone.
    package var fleet: FleetKeeping?

    package init(
        standing: Standing,
        ending: EndDetails? = nil,
        renewal: Renewal,
        formerRefreshToken: SecretID? = nil,
        refreshTokenSent: Bool = false,
        tokens: [TokenVariant: AccessToken],
        loggedInAt: WallTime,
        loginBegan: Instant? = nil,
        refreshExpiresAt: WallTime? = nil,
        end: LoginEnd? = nil,
        noticedEnd: Instant? = nil,
        refused: RefusedTokens = RefusedTokens(),
        coexistence: TokenCoexistence = .unknown,
        rotation: RotationHabit = .unknown(unchanged: 0),
        tokenEndpoint: String,
        subject: String? = nil,
        account: String? = nil,
        keptMembers: [String: String] = [:],
        proofKey: SecretID? = nil,
        server: DiscoveredServer? = nil,
        madeOf: String? = nil,
        interruptions: Int = 0,
        fleet: FleetKeeping? = nil
    ) {
        self.standing = standing
        self.ending = ending
        self.renewal = renewal
        self.formerRefreshToken = formerRefreshToken
        self.refreshTokenSent = refreshTokenSent
        self.tokens = tokens
        self.loggedInAt = loggedInAt
        self.loginBegan = loginBegan
        self.refreshExpiresAt = refreshExpiresAt
        self.end = end
        self.noticedEnd = noticedEnd
        self.refused = refused
        self.coexistence = coexistence
        self.rotation = rotation
        self.tokenEndpoint = tokenEndpoint
        self.subject = subject
        self.account = account
        self.keptMembers = keptMembers
        self.proofKey = proofKey
        self.server = server
        self.madeOf = madeOf
        self.interruptions = interruptions
        self.fleet = fleet
    }

    /// In the record of a shared session: a person has logged it out at this host alone.
    package var isHereAlone: Bool {
        if case .ended(.loggedOut, _) = standing { fleet == nil } else { false }
    }

    /// The login with its own token alone.
    package var withoutVariants: SessionSnapshot {
        var least = self
        least.tokens = tokens.filter { $0.key == .primary }
        return least
    }

    /// Every secret the snapshot names; the store writes all of them.
    package var secrets: Set<SecretID> {
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
}

/// Whether the server replaces the refresh token at each use, learned from its answers.
package enum RotationHabit: Equatable, Sendable {
    /// Seen unchanged this many times in a row, not yet enough to tell.
    case unknown(unchanged: Int)
    /// A different refresh token came back at least once.
    case rotates
    /// Unchanged or absent three times in a row.
    case keeps

    /// The habit after one more answer.
    package func observing(changed: Bool) -> RotationHabit {
        guard !changed else { return .rotates }
        switch self {
        case .rotates, .keeps: return self
        case .unknown(let unchanged): return unchanged >= 2 ? .keeps : .unknown(unchanged: unchanged + 1)
        }
    }
}
