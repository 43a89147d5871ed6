// SPDX-License-Identifier: MIT

/// What the configuration says about one session's timing.
package struct SessionPolicy: Equatable, Sendable {
    /// Refresh this long before expiry, capped at a third of the token's lifetime.
    package var refreshBefore: Duration
    /// A `get` never returns a token with less left, capped at half of the lifetime.
    package var minimumValidity: Duration
    /// Longest a `get` waits for a shared refresh.
    package var getTimeout: Duration
    /// The most refreshes a second that its issuer gets from all of its sessions (``IssuerPacing``).
    package var refreshesPerSecond: Int
    /// Force a new login after this long.
    package var maximumSessionAge: Duration?
    /// Warn this long before the end of the login; `nil`: ``noticeTime(before:since:)`` decides.
    package var warnBefore: Duration?
    /// An access token that is still good is served when its login has ended (kinds `oidc` and `oauth2`).
    package var tokensOutliveLogin: Bool
    /// Its tokens come from something that is there anyway (``Renewal/anew``): nobody has to log in, neither at
    /// first nor after a failure.
    package var startsByItself: Bool
    /// What its tokens are made of, as ``LoginSettings/text``.
    ///
    /// Others are not served. `nil`: nobody compares it here.
    package var madeOf: String?
    /// What to try before a person is asked to log in again.
    package var silentLogins: [SilentLogin]
    /// Which of its tokens are the credentials of a role.
    package var roles: RoleTokens
    /// All hosts of a fleet have it, and refresh it in turns: the fleet's record says what it is.
    package var isShared: Bool
    /// How long the server accepts a refresh token again that it has replaced; `nil`: not at all, or nobody knows.
    package var reuseGrace: Duration?
    /// This host opens access tokens only: the keepers of the fleet refresh the session.
    package var isReader: Bool
    /// What ends with a token that is revoked; `nil`: nobody knows.
    package var revokes: RevocationScope?

    /// How a person logs in to `session` at another host; `nil`: at this one.
    package func loginElsewhere(to session: SessionName) -> String? {
        isReader ? "tokenctl login \(session) at a host with role = \"keeper\"" : nil
    }

    /// What brings `session` back to a host that has left it.
    static func rejoining(_ session: SessionName) -> String { "tokenctl fleet join \(session)" }

    package init(
        refreshBefore: Duration = .seconds(300),
        minimumValidity: Duration = .seconds(30),
        getTimeout: Duration = .seconds(30),
        refreshesPerSecond: Int = IssuerPacing.ratePerSecond,
        maximumSessionAge: Duration? = nil,
        warnBefore: Duration? = nil,
        silentLogins: [SilentLogin] = [],
        tokensOutliveLogin: Bool = true,
        startsByItself: Bool = false,
        madeOf: String? = nil,
        roles: RoleTokens = .none,
        isShared: Bool = false,
        reuseGrace: Duration? = nil,
        isReader: Bool = false,
        revokes: RevocationScope? = nil
    ) {
        self.refreshBefore = refreshBefore
        self.minimumValidity = minimumValidity
        self.getTimeout = getTimeout
        self.refreshesPerSecond = refreshesPerSecond
        self.maximumSessionAge = maximumSessionAge
        self.warnBefore = warnBefore
        self.silentLogins = silentLogins
        self.tokensOutliveLogin = tokensOutliveLogin
        self.startsByItself = startsByItself
        self.madeOf = madeOf
        self.roles = roles
        self.isShared = isShared
        self.reuseGrace = reuseGrace
        self.isReader = isReader
        self.revokes = revokes
    }

    /// The policy for a token that is the credentials of a role.
    package var forRoles: SessionPolicy {
        var policy = self
        policy.minimumValidity = max(minimumValidity, RoleTokens.leastValidity)
        policy.refreshBefore = max(refreshBefore, RoleTokens.refreshBefore)
        return policy
    }

    /// The policy for the token of `variant`.
    func of(_ variant: TokenVariant) -> SessionPolicy {
        roles == .variants && variant != .primary ? forRoles : self
    }

    /// When a person is told that a login which began at `start` ends at `end`.
    ///
    /// By default a tenth of its life before the end, at most three days.
    func noticeTime(before end: Instant, since start: Instant) -> Instant {
        end - (warnBefore ?? min(.seconds(3 * 86_400), max(.zero, end - start) / 10))
    }
}

/// What ends at a server with a token that is revoked, spelled as the configuration's `revokes`.
package enum RevocationScope: String, CaseIterable, Sendable {
    /// The login that it is of.
    case token
    /// Every login of the same user and client.
    case grant
}

/// A way to log in again without a person, spelled as in the configuration's `reauth` list.
package enum SilentLogin: String, CaseIterable, Sendable {
    /// The standard output of `reauth_command` is the password or assertion.
    case command
    case clientCredentials = "client_credentials"
}
