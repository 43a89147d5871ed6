// SPDX-License-Identifier: MIT

import DemoIssuer
import Text

/// Refresh and revocation.
extension CognitoDoubleState {
    /// Answers `InitiateAuth` with `REFRESH_TOKEN_AUTH`, which returns no new refresh token and fails for
    /// rotating clients.
    mutating func refresh(_ parameters: JSONObject, _ client: Client) throws(Refusal) -> JSONObject {
        guard !client.rotates else {
            let message = "Initiate Auth method not supported."
            throw Refusal(type: "InvalidParameterException", message: message)
        }
        let user = try owner(of: parameters["REFRESH_TOKEN"]?.string ?? "", client)
        try checkHash(parameters, for: user.name, client)
        return try tokens(user, client, withRefreshToken: false)
    }

    mutating func getTokens(_ body: JSONObject) throws(Refusal) -> JSONObject {
        let client = try client(body)
        try checkSecret(body, client)
        let token = body["RefreshToken"]?.string ?? ""
        if refreshTokens[token]?.isSpent == true {
            refreshTokens[token]?.isRevoked = true
            throw Refusal(type: "RefreshTokenReuseException", message: "Refresh token has been reused.")
        }
        let user = try owner(of: token, client)
        if client.rotates { refreshTokens[token]?.isSpent = true }
        return try tokens(user, client, withRefreshToken: client.rotates)
    }

    private func owner(of token: String, _ client: Client) throws(Refusal) -> User {
        guard let entry = refreshTokens[token], entry.client == client.id else {
            throw notAuthorized("Invalid Refresh Token.")
        }
        guard let user = users[entry.user] else {
            throw Refusal(type: "UserNotFoundException", message: "User does not exist.")
        }
        guard !entry.isRevoked else { throw notAuthorized("Refresh Token has been revoked") }
        guard now < entry.expiresAt else { throw notAuthorized("Refresh Token has expired") }
        guard !user.isDisabled else { throw notAuthorized("User is disabled.") }
        return user
    }

    func notAuthorized(_ message: String) -> Refusal {
        Refusal(type: "NotAuthorizedException", message: message)
    }

    /// Revokes a refresh token.
    ///
    /// An unknown token is not an error, as in RFC 7009.
    mutating func revoke(_ body: JSONObject) throws(Refusal) -> JSONObject {
        let client = try client(body)
        try checkSecret(body, client)
        guard client.allowsRevocation else {
            let message = "Operation is not supported for this client"
            throw Refusal(type: "UnsupportedOperationException", message: message)
        }
        refreshTokens[body["Token"]?.string ?? ""]?.isRevoked = true
        return JSONObject()
    }

    mutating func signOut(_ body: JSONObject) throws(Refusal) -> JSONObject {
        guard let user = endAccess(body["AccessToken"]?.string ?? "") else {
            throw notAuthorized("Access Token has been revoked")
        }
        for token in refreshTokens.keys where refreshTokens[token]?.user == user {
            refreshTokens[token]?.isRevoked = true
        }
        return JSONObject()
    }
}
