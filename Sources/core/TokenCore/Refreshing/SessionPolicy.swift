// SPDX-License-Identifier: MIT

import Text

/// The configured timing and behavior of one session.
package struct SessionPolicy: Equatable, Sendable {
    /// The time before expiry at which a token is refreshed, capped at a third of its lifetime.
    package var refreshBefore: Duration
    /// The minimum remaining validity of a served token, capped at half of its lifetime.
    package var minimumValidity: Duration
    /// The maximum time that a `get` waits for a shared refresh.
    package var getTimeout: Duration
    /// The maximum number of refreshes per second of all sessions of the issuer (``IssuerPacing``).
    package var refreshesPerSecond: Int
    /// The time after which a new login is required.
    package var maximumSessionAge: Duration?
    /// The time before the end of the login at which to warn, or `nil` if ``noticeTime(before:since:)``
    /// decides.
    package var warnBefore: Duration?
    /// Whether a valid access token is served after its login has ended (kinds `oidc` and `oauth2`).
    package var tokensOutliveLogin: Bool
    /// Whether no user has to log in, because tokens are obtained without a login (``RenewalMethod/withoutLogin``).
    package var startsByItself: Bool
    /// The source that the tokens must come from, as ``LoginSettingsFingerprint/text``, or `nil` if it is not compared.
    ///
    /// Tokens of another source are not served.
    package var madeOf: String?
    /// The logins to try before the user is asked to log in again.
    package var noninteractiveLogins: [NoninteractiveLoginMethod]
    /// The tokens that are AWS role credentials.
    package var roles: AWSRoleTokens
    /// Whether all hosts of a fleet have the session and refresh it in turns.
    ///
    /// The fleet's record is authoritative.
    package var isShared: Bool
    /// The time during which the server accepts a replaced refresh token again, or `nil` if not at all or
    /// unknown.
    package var reuseGrace: Duration?
    /// Whether this host opens access tokens only.
    ///
    /// The keepers of the fleet refresh the session.
    package var isReader: Bool
    /// The scope of a revocation at the server, or `nil` if unknown.
    package var revokes: LoginsEndedByRevocation?

    /// Returns the advice to log in to `session` at another host, or `nil` if the login is made at this one.
    package func loginElsewhere(to session: SessionName) -> Remedy? {
        isReader ? .retry("after tokenctl login \(session) at a host with role = \"keeper\"") : nil
    }

    /// Returns the command that brings `session` back to a host that has left it.
    static func rejoining(_ session: SessionName) -> Remedy { .run("tokenctl fleet join \(session)") }

    package init(
        refreshBefore: Duration = .seconds(300),
        minimumValidity: Duration = .seconds(30),
        getTimeout: Duration = .seconds(30),
        refreshesPerSecond: Int = IssuerPacing.ratePerSecond,
        maximumSessionAge: Duration? = nil,
        warnBefore: Duration? = nil,
        noninteractiveLogins: [NoninteractiveLoginMethod] = [],
        tokensOutliveLogin: Bool = true,
        startsByItself: Bool = false,
        madeOf: String? = nil,
        roles: AWSRoleTokens = .none,
        isShared: Bool = false,
        reuseGrace: Duration? = nil,
        isReader: Bool = false,
        revokes: LoginsEndedByRevocation? = nil
    ) {
        self.refreshBefore = refreshBefore
        self.minimumValidity = minimumValidity
        self.getTimeout = getTimeout
        self.refreshesPerSecond = refreshesPerSecond
        self.maximumSessionAge = maximumSessionAge
        self.warnBefore = warnBefore
        self.noninteractiveLogins = noninteractiveLogins
        self.tokensOutliveLogin = tokensOutliveLogin
        self.startsByItself = startsByItself
        self.madeOf = madeOf
        self.roles = roles
        self.isShared = isShared
        self.reuseGrace = reuseGrace
        self.isReader = isReader
        self.revokes = revokes
    }

    /// The policy for a token that is a set of role credentials.
    package var forRoles: SessionPolicy {
        var policy = self
        policy.minimumValidity = max(minimumValidity, AWSRoleTokens.minimumValidity)
        policy.refreshBefore = max(refreshBefore, AWSRoleTokens.refreshBefore)
        return policy
    }

    /// Returns the policy for the token of `variant`.
    func of(_ variant: TokenVariant) -> SessionPolicy {
        roles == .variants && variant != .primary ? forRoles : self
    }

    /// Returns the time at which the user is warned about the end of a login from `start` to `end`.
    ///
    /// By default it is a tenth of that time before the end, at most three days.
    func noticeTime(before end: Instant, since start: Instant) -> Instant {
        end - (warnBefore ?? min(.seconds(3 * 86_400), max(.zero, end - start) / 10))
    }
}

/// The logins that end at a server when a token is revoked, spelled as in the configuration's `revokes`.
package enum LoginsEndedByRevocation: String, CaseIterable, Sendable {
    /// Only the login of the revoked token.
    case token
    /// Every login of the same user and client.
    case grant
}

/// A kind of noninteractive login, spelled as in the configuration's `reauth` list.
package enum NoninteractiveLoginMethod: String, CaseIterable, Sendable {
    /// The standard output of `reauth_command` is the password or assertion.
    case command
    case clientCredentials = "client_credentials"
}
