// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension TokenResponse {
    /// Reads Amazon's `AuthenticationResult`.
    init(cognito result: JSONObject) throws(Problem) {
        guard let accessToken = try TokenResponse.token("AccessToken", in: result) else {
            throw Problem(message: "the answer has no AccessToken")
        }
        self.accessToken = accessToken
        tokenType = "Bearer"
        try setType(result["TokenType"]?.string ?? tokenType)
        refreshToken = try RenewalMembers.cognito.refreshToken(in: result)
        (idToken, idTokenProblem) = TokenResponse.idToken("IdToken", in: result)
        scope = nil
        setLifetime(result["ExpiresIn"])
        refreshExpiresIn = RenewalMembers.cognito.lifetime(in: result)
    }
}

/// What a pool's tokens say about their owner.
struct CognitoIdentity: Equatable {
    var subject: String?
    /// The user name as the pool knows it; it differs if an address was typed at login.
    var username: String?
    /// Set where the pool tracks devices; refreshes then name it.
    var deviceKey: String?

    init(accessToken: String?, idToken: String?) {
        let access = accessToken.flatMap { JWTParts($0) }?.claims
        let identity = idToken.flatMap { JWTParts($0) }?.claims
        subject = (identity?["sub"] ?? access?["sub"])?.string
        username = (access?["username"] ?? identity?["cognito:username"])?.string
        deviceKey = access?["device_key"]?.string
    }
}
