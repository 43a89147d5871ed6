// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension TokenResponse {
    /// Reads Amazon's `AuthenticationResult`.
    init(cognito result: JSONObject) throws(Problem) {
        guard let accessToken = try TokenResponse.token("AccessToken", in: result) else {
            throw Problem(message: "the response has no AccessToken")
        }
        self.accessToken = accessToken
        tokenType = "Bearer"
        try setType(result["TokenType"]?.string ?? tokenType)
        refreshToken = try RefreshTokenMemberNames.cognito.refreshToken(in: result)
        (idToken, idTokenProblem) = TokenResponse.idToken("IdToken", in: result)
        scope = nil
        setLifetime(result["ExpiresIn"])
        refreshExpiresIn = RefreshTokenMemberNames.cognito.lifetime(in: result)
    }
}

/// The claims about the user in a pool's tokens.
struct CognitoUserClaims: Equatable {
    var subject: String?
    /// The user name in the pool, which differs from the login if the user entered an address.
    var username: String?
    /// The key of the device, set if the pool tracks devices.
    ///
    /// Refreshes then include it.
    var deviceKey: String?

    init(accessToken: String?, idToken: String?) {
        let access = accessToken.flatMap { JWTParts($0) }?.claims
        let identity = idToken.flatMap { JWTParts($0) }?.claims
        subject = (identity?["sub"] ?? access?["sub"])?.string
        username = (access?["username"] ?? identity?["cognito:username"])?.string
        deviceKey = access?["device_key"]?.string
    }
}
