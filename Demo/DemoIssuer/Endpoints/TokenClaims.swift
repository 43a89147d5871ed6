// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// Returns an access token as a JWT (RFC 9068 §2).
    func signedAccessToken(_ authorization: GrantLedger.Authorization) throws -> String {
        var claims = commonClaims(authorization, lifetime: settings.accessLifetime)
        claims["aud"] = .string(authorization.audience ?? "\(issuer)/resource")
        claims["client_id"] = .string(authorization.client)
        claims["scope"] = .string(authorization.scope.joined(separator: " "))
        if let thumbprint = authorization.keyThumbprint { claims["cnf"] = ["jkt": .string(thumbprint)] }
        claims["jti"] = .string(RandomText.token("jti"))
        var header = JSONObject()
        header["typ"] = "at+jwt"
        return try signingKey.sign(claims: claims, header: header)
    }

    /// Returns the ID token of a login (OIDC Core §2).
    func idToken(_ authorization: GrantLedger.Authorization) throws -> String {
        var claims = commonClaims(authorization, lifetime: .seconds(600))
        claims["aud"] = .string(authorization.client)
        claims["azp"] = .string(authorization.client)
        claims["auth_time"] = .integer(authorization.authenticatedAt)
        claims["nonce"] = authorization.nonce.map(JSONValue.string)
        if authorization.scope.contains("email") {
            claims["email"] = .string("\(authorization.user ?? "nobody")@example.com")
        }
        claims.replace(with: settings.idTokenClaims)
        return try signingKey.sign(claims: claims, header: settings.idTokenHeader)
    }

    private func commonClaims(_ authorization: GrantLedger.Authorization, lifetime: Duration) -> JSONObject {
        let issuedAt = WallClock.seconds
        var claims = JSONObject()
        claims["iss"] = .string(issuer)
        claims["sub"] = .string(authorization.user ?? authorization.client)
        claims["iat"] = .integer(issuedAt)
        claims["exp"] = .integer(issuedAt + lifetime.components.seconds)
        return claims
    }
}
