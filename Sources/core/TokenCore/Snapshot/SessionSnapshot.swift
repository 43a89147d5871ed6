// SPDX-License-Identifier: MIT

/// The part of a session that outlives the process: written to the store and restored at start-up.
package struct SessionSnapshot: Equatable, Sendable {
    /// The validity of the login.
    package enum LoginState: Equatable, Sendable {
        case loggedIn
        /// The login has ended for this reason. The refresh token is erased at `quarantinedUntil`.
        case ended(EndReason, quarantinedUntil: WallTime?)
    }

    package var standing: LoginState
    /// The message and time of the login's end, or `nil` while it has not ended and in older records.
    package var ending: LoginEndDetails?
    package var renewal: RenewalMethod
    /// The refresh token before that of ``renewal``, kept until the new one has worked.
    package var formerRefreshToken: SecretID?
    /// Whether the refresh token was sent after it was stored and the response never arrived.
    package var refreshTokenSent: Bool
    package var tokens: [TokenVariant: AccessToken]
    package var loggedInAt: WallTime
    /// The moment of ``loggedInAt`` on the boot-time clock, which cannot be set, or `nil` in older records.
    package var loginBegan: Instant?
    /// The certain expiry of the refresh token.
    package var refreshExpiresAt: WallTime?
    /// The expiry of the refresh token with its details, or `nil` if it is unknown and in older records.
    package var end: LoginExpiry?
    /// The end of the login that the user has been warned about.
    package var noticedEnd: Instant?
    package var refused: RejectedTokens
    package var coexistence: TokenCoexistence
    package var rotation: RotationHabit
    /// The only endpoint that the refresh token may be sent to (``LoginGrant/tokenEndpoint``).
    package var tokenEndpoint: String
    package var subject: String?
    /// The user name of the login (``LoginGrant/account``), proposed at the next login.
    package var account: String?
    package var keptMembers: [String: String]
    /// The key that the tokens are bound to (RFC 9449).
    package var proofKey: SecretID?
    /// The server data that the login discovered.
    package var server: DiscoveredServer?
    /// The source of the tokens (``SessionPolicy/madeOf``), or `nil` if the record is of an older version.
    package var madeOf: String?
    /// The number of consecutive agent starts that found this record in the middle of a refresh.
    package var interruptions: Int
    /// Whether this host wrote the record before a reboot.
    ///
    /// Only the wall clock tells its age then. Not stored.
    package var isDatedByWallClock = false
    /// The fleet data that this host stores with the record, or `nil` if the session is not shared.
    package var fleet: SessionFleetState?

    package init(
        standing: LoginState,
        ending: LoginEndDetails? = nil,
        renewal: RenewalMethod,
        formerRefreshToken: SecretID? = nil,
        refreshTokenSent: Bool = false,
        tokens: [TokenVariant: AccessToken],
        loggedInAt: WallTime,
        loginBegan: Instant? = nil,
        refreshExpiresAt: WallTime? = nil,
        end: LoginExpiry? = nil,
        noticedEnd: Instant? = nil,
        refused: RejectedTokens = RejectedTokens(),
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
        fleet: SessionFleetState? = nil
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

    /// Whether this is the record of a shared session that the user has logged out at this host alone.
    package var isHereAlone: Bool {
        if case .ended(.loggedOut, _) = standing { fleet == nil } else { false }
    }

    /// A copy of the snapshot whose only access token is the login's own.
    package var withoutVariants: SessionSnapshot {
        var least = self
        least.tokens = tokens.filter { $0.key == .primary }
        return least
    }

    /// Every secret that the snapshot names.
    ///
    /// The store writes all of them.
    package var secrets: Set<SecretID> {
        let own = [renewal.refreshToken, formerRefreshToken, proofKey]
        let served = tokens.values.flatMap { [$0.secret, $0.idToken?.secret] }
        return Set((own + served).compactMap(\.self))
    }
}

/// The server's habit of replacing the refresh token at each use, learned from its responses.
package enum RotationHabit: Equatable, Sendable {
    /// The refresh token came back unchanged this many times in a row, which is not yet enough to tell.
    case unknown(unchanged: Int)
    /// The server returned a different refresh token at least once.
    case rotates
    /// The refresh token was unchanged or absent three times in a row.
    case keeps

    /// Returns the habit as learned from one more token response.
    ///
    /// `changed` says whether the response contained a different refresh token.
    package func observing(changed: Bool) -> RotationHabit {
        guard !changed else { return .rotates }
        switch self {
        case .rotates, .keeps: return self
        case .unknown(let unchanged): return unchanged >= 2 ? .keeps : .unknown(unchanged: unchanged + 1)
        }
    }
}
