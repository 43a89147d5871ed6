// SPDX-License-Identifier: MIT

extension IssuerState {
    /// Exchanges a valid token of this issuer for another one with no more rights (RFC 8693 §2).
    mutating func exchangeToken(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerResponse {
        guard
            form["actor_token"] == nil || form["actor_token"].flatMap({ grants.access($0, now: now) }) != nil
        else {
            throw OAuthErrorResponse(code: "invalid_request", description: "the actor_token is not valid")
        }
        var authorization = try subject(form, of: client).bound(to: key)
        authorization.client = client.id
        authorization.family = grants.newFamily()
        authorization = try narrowed(authorization, form)
        if form["requested_token_type"] == IssuerState.identityAssertionType {
            return try identityAssertion(authorization, form)
        }
        // Some servers return a refresh token here too (RFC 8693 §2.2.1).
        let refreshToken = settings.refreshTokens == .always ? newRefreshToken(authorization) : nil
        return try tokens(
            authorization,
            refreshToken: refreshToken,
            withIDToken: false,
            issuedTokenType: IssuerState.tokenType("access_token")
        )
    }

    private static func tokenType(_ word: String) -> String { "urn:ietf:params:oauth:token-type:" + word }

    /// Returns the rights of the exchanged token: an access token, or an ID token issued to `client`.
    private func subject(
        _ form: FormFields,
        of client: RegisteredClient
    ) throws(OAuthErrorResponse) -> GrantLedger.Authorization {
        let token = form["subject_token"] ?? ""
        switch form["subject_token_type"] {
        case IssuerState.tokenType("access_token"), IssuerState.tokenType("jwt"):
            if let subject = grants.access(token, now: now) { return subject.authorization }
        case IssuerState.tokenType("id_token"):
            if let claims = signingKey.claims(of: token), claims["aud"]?.string == client.id,
                let end = claims["exp"]?.integer, end > WallClock.seconds
            {
                return GrantLedger.Authorization(
                    client: client.id,
                    user: claims["sub"]?.string,
                    scope: settings.knownScopes.sorted(),
                    family: 0
                )
            }
        default: throw OAuthErrorResponse(code: "invalid_request", description: "unknown subject_token_type")
        }
        throw OAuthErrorResponse(code: "invalid_request", description: "the subject_token is not valid")
    }
}
