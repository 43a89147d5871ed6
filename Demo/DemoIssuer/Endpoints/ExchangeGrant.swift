// SPDX-License-Identifier: MIT

extension IssuerState {
    /// Token exchange (RFC 8693 §2): a living access token of this issuer for another one, which can do no more.
    mutating func exchangeToken(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerReply {
        let types = ["access_token", "jwt"].map { "urn:ietf:params:oauth:token-type:" + $0 }
        guard let type = form["subject_token_type"], types.contains(type) else {
            throw OAuthRefusal(code: "invalid_request", description: "unknown subject_token_type")
        }
        guard let subject = form["subject_token"].flatMap({ grants.access($0, now: now) }) else {
            throw OAuthRefusal(code: "invalid_request", description: "the subject_token is not valid")
        }
        guard
            form["actor_token"] == nil || form["actor_token"].flatMap({ grants.access($0, now: now) }) != nil
        else { throw OAuthRefusal(code: "invalid_request", description: "the actor_token is not valid") }
        var authorization = subject.authorization.bound(to: key)
        authorization.client = client.id
        authorization.family = grants.newFamily()
        authorization = try narrowed(authorization, form)
        // Some servers give a refresh token here too (RFC 8693 §2.2.1).
        let refreshToken = settings.refreshTokens == .always ? newRefreshToken(authorization) : nil
        return try tokens(
            authorization,
            refreshToken: refreshToken,
            withIDToken: false,
            issuedTokenType: types[0]
        )
    }
}
