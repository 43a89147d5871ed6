// SPDX-License-Identifier: MIT

/// The issuer's grants: codes, device codes and tokens, and which of them have been ended.
struct GrantLedger: Sendable {
    /// The rights granted by one login.
    struct Authorization: Equatable, Sendable {
        var client: String
        /// The user, or `nil` for the client itself (`client_credentials`).
        var user: String?
        var scope: [String]
        var audience: String?
        var nonce: String?
        /// The thumbprint of the key that a client must prove to use the tokens (RFC 9449 §6).
        var keyThumbprint: String?
        /// The number of the login's family.
        ///
        /// All tokens of a family are revoked together.
        var family: Int
        /// The time of the login, in seconds since 1970.
        var authenticatedAt = WallClock.seconds

        /// Returns the same authorization with tokens bound to `key`, or unbound tokens if `key` is `nil`.
        func bound(to key: String?) -> Authorization {
            var bound = self
            bound.keyThumbprint = key
            return bound
        }
    }

    struct Code: Sendable {
        var authorization: Authorization
        var redirectURI: String
        var challenge: String?
        /// The thumbprint of the key that the code's exchange must prove (RFC 9449 §10).
        var keyThumbprint: String?
        var isUsed = false
    }

    struct PushedRequest: Sendable {
        var client: String
        var parameters: FormFields
        var expiresAt: Duration
    }

    struct RefreshToken: Sendable {
        var authorization: Authorization
        var firstUsedAt: Duration?
        var expiresAt: Duration?
    }

    struct IssuedToken: Sendable {
        var authorization: Authorization
        var expiresAt: Duration
    }

    /// The pushed authorization requests that have not been opened (RFC 9126 §2.2), by `request_uri`.
    var pushedRequests: [String: PushedRequest] = [:]
    var codes: [String: Code] = [:]
    var devices: [String: DeviceGrant] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    var accessTokens: [String: IssuedToken] = [:]
    /// The accepted assertions, by signer and `jti`.
    var assertions: Set<String> = []
    var deadFamilies: Set<Int> = []
    private var families = 0

    mutating func newFamily() -> Int {
        families += 1
        return families
    }

    /// Ends every login with a refresh token of `user`, or of all users.
    mutating func kill(user: String?) {
        for token in refreshTokens.values where user == nil || token.authorization.user == user {
            deadFamilies.insert(token.authorization.family)
        }
    }

    /// Returns whether a refresh with `token` would succeed at `now`.
    func isAlive(_ token: String, rotation: IssuerSettings.Rotation, now: Duration) -> Bool {
        guard let entry = refreshTokens[token], !deadFamilies.contains(entry.authorization.family),
            entry.expiresAt.map({ now < $0 }) ?? true
        else { return false }
        return !isSpent(entry, rotation: rotation, now: now)
    }

    /// Returns whether `entry` was used and may not be used again.
    func isSpent(_ entry: RefreshToken, rotation: IssuerSettings.Rotation, now: Duration) -> Bool {
        guard let firstUsedAt = entry.firstUsedAt else { return false }
        switch rotation {
        case .none: return false
        case .strict: return true
        case .grace(let grace): return now - firstUsedAt > grace
        }
    }

    /// Returns the record of the access token `token`, or `nil` if it is unknown, expired or revoked.
    func access(_ token: String, now: Duration) -> IssuedToken? {
        guard let entry = accessTokens[token], now < entry.expiresAt,
            !deadFamilies.contains(entry.authorization.family)
        else { return nil }
        return entry
    }
}

/// One device login (RFC 8628).
struct DeviceGrant: Sendable {
    enum Decision: Equatable, Sendable {
        case pending
        case approved(user: String)
        case denied
        case used
    }

    var userCode: String
    var client: String
    var scope: [String]
    var audience: String?
    var nonce: String?
    var decision = Decision.pending
    var interval: Duration
    var lastPoll: Duration?
    var expiresAt: Duration
}
