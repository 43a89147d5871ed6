// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// The `requested_token_type` of an assertion for a login at another server
    /// (draft-ietf-oauth-identity-assertion-authz-grant §4.3).
    static let identityAssertionType = "urn:ietf:params:oauth:token-type:id-jag"

    /// The lifetime from `iat` to `exp`, in seconds.
    private static let identityAssertionLifetime: Int64 = 300

    /// Returns the response of an exchange for such an assertion (§4.3.3), whose token type is `N_A` because
    /// the assertion is not an access token.
    func identityAssertion(
        _ authorization: GrantLedger.Authorization,
        _ form: FormFields
    ) throws -> IssuerResponse {
        guard let audience = form["audience"] else {
            throw OAuthErrorResponse(code: "invalid_request", description: "audience is missing")
        }
        let now = WallClock.seconds
        let scope = authorization.scope.joined(separator: " ")
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": .string(authorization.user ?? authorization.client),
            "aud": .string(audience), "client_id": .string(authorization.client),
            "jti": .string(RandomText.token("jti")), "iat": .integer(now),
            "exp": .integer(now + IssuerState.identityAssertionLifetime), "scope": .string(scope),
        ]
        if let resource = form["resource"] { claims["resource"] = .string(resource) }
        return .json([
            "issued_token_type": .string(IssuerState.identityAssertionType),
            "access_token": .string(
                try signingKey.sign(claims: claims, header: ["typ": .string(TrustedSigner.identityAssertion)])
            ),
            "token_type": "N_A", "expires_in": .integer(IssuerState.identityAssertionLifetime),
            "scope": .string(scope),
        ])
    }
}
