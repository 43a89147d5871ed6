// SPDX-License-Identifier: MIT

/// What a successful token answer brought, its secrets already sealed in the vault.
package struct GrantedTokens: Equatable, Sendable {
    package var accessToken: SecretID
    package var idToken: IDToken?
    /// `nil`: the answer had none (or an empty one), so the old one stays in use (RFC 6749 §6).
    package var refreshToken: SecretID?
    /// The answer carried a refresh token equal to the one sent.
    package var refreshTokenUnchanged: Bool
    package var tokenType: String
    /// The server's own word for the type, where that is another.
    package var serverTokenType: String?
    /// `nil`: not in the answer, so the scope is the one asked for (RFC 6749 §5.1).
    package var scope: [String]?
    /// The shorter of `expires_in` and a JWT's own life; `nil`: the answer tells neither.
    package var lifetime: Duration?
    /// How long the refresh token lives, if the server (`refresh_expires_in`, a JWT's claims) or the
    /// configuration says.
    package var refreshLifetime: RefreshLifetime?
    /// Read before the request was sent.
    package var requestedAt: Instant
    /// How far the server's clock was ahead of ours, by the `Date` of the answer; only for showing.
    package var serverClockAhead: Duration?
    /// Extra members of the answer the configuration asks to keep; no secrets.
    package var keptMembers: [String: String]
    /// Recognizes the access token if the server gives it out again after a refusal.
    package var fingerprint: TokenFingerprint?
    /// What the person should know about the answer.
    package var remarks: [GrantWarning]
    /// Where the tokens are from, if no login said so (``Renewal/anew``).
    package var origin: TokenOrigin?

    /// The tokens come from a damaged response: the old refresh token is kept until the new one has worked.
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
        origin: TokenOrigin? = nil
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

/// What a login says of itself beside its tokens (``LoginGrant``), for tokens that no login brought.
package struct TokenOrigin: Equatable, Sendable {
    /// The endpoint they came from, which revokes them.
    package var tokenEndpoint: String
    /// The key that they are bound to (RFC 9449).
    package var proofKey: SecretID?
    /// What was found out about their server (``LoginGrant/server``).
    package var server: DiscoveredServer?

    package init(tokenEndpoint: String, proofKey: SecretID? = nil, server: DiscoveredServer? = nil) {
        self.tokenEndpoint = tokenEndpoint
        self.proofKey = proofKey
        self.server = server
    }
}

/// What is left of an answer whose access token cannot be accepted: how the session is renewed from now on.
///
/// The server has spent the old refresh token for it, so the new one must not be lost (RFC 6749 §6).
package struct SavedRenewal: Equatable, Sendable {
    package var refreshToken: SecretID
    package var refreshLifetime: RefreshLifetime?
    /// Read before the request was sent.
    package var requestedAt: Instant

    package init(refreshToken: SecretID, refreshLifetime: RefreshLifetime?, requestedAt: Instant) {
        self.refreshToken = refreshToken
        self.refreshLifetime = refreshLifetime
        self.requestedAt = requestedAt
    }
}
