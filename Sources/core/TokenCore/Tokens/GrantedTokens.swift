// SPDX-License-Identifier: MIT

/// The contents of a successful token response, its secrets already sealed in the vault.
package struct GrantedTokens: Equatable, Sendable {
    package var accessToken: SecretID
    package var idToken: IDToken?
    /// The new refresh token, or `nil` if the response had none or an empty one.
    ///
    /// Without a new refresh token, the current one remains in use (RFC 6749 §6).
    package var refreshToken: SecretID?
    /// Whether the response contained the same refresh token that was sent.
    package var refreshTokenUnchanged: Bool
    package var tokenType: String
    /// The server's name for ``tokenType``, if it differs.
    package var serverTokenType: String?
    /// The granted scopes, or `nil` if not in the response, so that they are the requested ones (RFC 6749
    /// §5.1).
    package var scope: [String]?
    /// The shorter of `expires_in` and a JWT's own lifetime, or `nil` if the response contains neither.
    package var lifetime: Duration?
    /// The lifetime of the refresh token, if it is known.
    ///
    /// The server (`refresh_expires_in`, a JWT's claims) or the configuration says it.
    package var refreshLifetime: RefreshLifetime?
    /// The time just before the request was sent.
    package var requestedAt: Instant
    /// The time by which the server's clock was ahead of the local clock, by the response's `Date`.
    ///
    /// For display only.
    package var serverClockAhead: Duration?
    /// Additional response members that the configuration keeps.
    ///
    /// They are not secret.
    package var keptMembers: [String: String]
    /// The digest that recognizes the access token if the server issues it again after a rejection.
    package var fingerprint: TokenFingerprint?
    /// Warnings for the user about the response.
    package var remarks: [GrantWarning]
    /// The origin of the tokens if no login stated it (``RenewalMethod/withoutLogin``).
    package var origin: IssuanceContext?

    /// Whether the tokens come from a damaged response.
    ///
    /// The old refresh token is kept until the new one has worked.
    var isSalvaged: Bool { remarks.contains { $0.kind == .responseSalvaged } }

    package init(
        accessToken: SecretID,
        idToken: IDToken? = nil,
        refreshToken: SecretID? = nil,
        refreshTokenUnchanged: Bool = false,
        tokenType: String = "Bearer",
        scope: [String]? = nil,
        lifetime: Duration?,
        refreshLifetime: RefreshLifetime? = nil,
        requestedAt: Instant,
        serverClockAhead: Duration? = nil,
        keptMembers: [String: String] = [:],
        fingerprint: TokenFingerprint? = nil,
        remarks: [GrantWarning] = [],
        origin: IssuanceContext? = nil
    ) {
        self.accessToken = accessToken
        self.idToken = idToken
        self.refreshToken = refreshToken
        self.refreshTokenUnchanged = refreshTokenUnchanged
        self.tokenType = tokenType
        self.scope = scope
        self.lifetime = lifetime
        self.refreshLifetime = refreshLifetime
        self.requestedAt = requestedAt
        self.serverClockAhead = serverClockAhead
        self.keptMembers = keptMembers
        self.fingerprint = fingerprint
        self.remarks = remarks
        self.origin = origin
    }
}

/// The data of a login apart from its tokens (``LoginGrant``), for tokens obtained without a login.
package struct IssuanceContext: Equatable, Sendable {
    /// The endpoint that issued the tokens, and that revokes them.
    package var tokenEndpoint: String
    /// The key that the tokens are bound to (RFC 9449).
    package var proofKey: SecretID?
    /// The server data that was discovered (``LoginGrant/server``).
    package var server: DiscoveredServer?

    package init(tokenEndpoint: String, proofKey: SecretID? = nil, server: DiscoveredServer? = nil) {
        self.tokenEndpoint = tokenEndpoint
        self.proofKey = proofKey
        self.server = server
    }
}

/// The refresh token from a response whose access token cannot be accepted.
///
/// The server has invalidated the old refresh token in exchange, so the new one must not be lost (RFC 6749
/// §6).
package struct RescuedRefreshToken: Equatable, Sendable {
    package var refreshToken: SecretID
    package var refreshLifetime: RefreshLifetime?
    /// The time just before the request was sent.
    package var requestedAt: Instant

    package init(refreshToken: SecretID, refreshLifetime: RefreshLifetime?, requestedAt: Instant) {
        self.refreshToken = refreshToken
        self.refreshLifetime = refreshLifetime
        self.requestedAt = requestedAt
    }
}
