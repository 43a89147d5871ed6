// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The names of the refresh token and its lifetime in the responses of one kind of server.
struct RefreshTokenMemberNames: Equatable, Sendable {
    var token: String
    /// The names of the refresh token's lifetime.
    ///
    /// The first one present counts.
    var lifetimes: [String]
    var unit = LifetimeUnit.seconds

    /// The name of RFC 6749 §5.1, and the names that vendors use for the lifetime.
    static let standard = RefreshTokenMemberNames(
        token: "refresh_token",
        lifetimes: ["refresh_expires_in", "refresh_token_expires_in"]
    )
    static let cognito = RefreshTokenMemberNames(token: "RefreshToken", lifetimes: [])

    /// Returns the refresh token in `object`, or `nil` if there is none.
    ///
    /// - Throws: The reason the member is not a refresh token.
    func refreshToken(in object: JSONObject) throws(TokenResponse.Problem) -> String? {
        // A refresh token is sent only in forms and JSON, which allow blanks (RFC 6749 Appendix A.17).
        try TokenResponse.token(token, in: object) { $0.isVisibleASCII || $0 == 0x20 }
    }

    /// Returns the lifetime of the refresh token, or `nil` if `object` does not state one.
    func lifetime(in object: JSONObject) -> Duration? {
        let told = lifetimes.lazy.compactMap { object[$0] }.first
        return LifetimeParser.read(told, in: unit).flatMap(LifetimeParser.positive)
    }
}
