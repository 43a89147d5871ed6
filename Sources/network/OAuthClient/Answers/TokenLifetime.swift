// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// The lifetimes of the tokens in a response.
enum TokenLifetime {
    /// The maximum lifetime that is believed without a check against the token.
    private static let plausible: Duration = .seconds(86_400)

    /// Returns the shorter of the lifetime in the response and the lifetime in a JWT (`exp` − `iat`,
    /// unverified).
    ///
    /// If only one exists, that one counts. If a JWT has only `exp`, its lifetime depends on a clock. So it
    /// counts only if the response states no lifetime or an implausible one: a number of milliseconds is a
    /// thousand times too long.
    static func of(_ answer: TokenResponse, at now: WallTime) -> Duration? {
        let clock = answer.serverTime ?? now
        let told = answer.expiresIn ?? answer.expiresAt.flatMap { LifetimeParser.positive($0 - clock) }
        guard let claims = JWTParts(answer.accessToken)?.claims, let expiry = claims.seconds("exp") else {
            return told ?? answer.assumedLifetime
        }
        guard let told else { return ofNewToken(claims, until: expiry, at: now) }
        if let whole = claims.wholeLife { return min(.seconds(whole), told) }
        let left = WallTime(secondsSince1970: expiry) - clock
        return told > plausible && left > .zero ? min(left, told) : told
    }

    /// Returns the lifetime in the claims of an ID token, or `nil` if they name no expiry.
    ///
    /// The token may have been issued a while ago. If the response shows the server's clock, the remaining
    /// validity is computed with it.
    static func ofIDToken(_ token: String, in answer: TokenResponse, at now: WallTime) -> Duration? {
        guard let claims = JWTParts(token)?.claims, let expiry = claims.seconds("exp") else { return nil }
        guard let serverTime = answer.serverTime else { return ofNewToken(claims, until: expiry, at: now) }
        let left = max(.zero, WallTime(secondsSince1970: expiry) - serverTime)
        return min(left, claims.wholeLife.map(Duration.seconds) ?? left, LifetimeParser.longest)
    }

    /// Returns the lifetime of a token that was issued just now, whose whole lifetime corrects a clock that
    /// is off.
    private static func ofNewToken(_ claims: JSONObject, until expiry: Int64, at now: WallTime) -> Duration {
        let whole = claims.wholeLife.map(Duration.seconds)
        let left = WallTime(secondsSince1970: expiry) - now
        guard left > .zero else { return min(whole ?? .zero, LifetimeParser.longest) }
        return min(left, whole ?? left, LifetimeParser.longest)
    }

    /// Returns the lifetime of the refresh token that the response states, or else the one in a JWT's claims.
    static func ofRefreshToken(_ answer: TokenResponse) -> RefreshLifetime? {
        if let told = answer.refreshExpiresIn { return RefreshLifetime(told) }
        guard let token = answer.refreshToken, let claims = JWTParts(token)?.claims,
            let whole = claims.wholeLife.map(Duration.seconds)
        else { return nil }
        return RefreshLifetime(min(whole, LifetimeParser.longest), source: .presumed)
    }
}
