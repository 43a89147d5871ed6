// SPDX-License-Identifier: MIT

extension IssuerState {
    /// Answers a refresh (RFC 6749 §6) with the configured rotation.
    mutating func refresh(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerResponse {
        guard let text = form["refresh_token"], var entry = grants.refreshTokens[text],
            entry.authorization.client == client.id
        else { throw OAuthErrorResponse(code: "invalid_grant", description: "unknown refresh token") }
        // Checked first, so that a thief who sends the token without its key changes nothing.
        guard entry.authorization.keyThumbprint == nil || entry.authorization.keyThumbprint == key else {
            throw OAuthErrorResponse(code: "invalid_grant", description: "bound to another key")
        }
        guard !grants.isSpent(entry, rotation: settings.rotation, now: now) else {
            // The token may have been stolen, so all tokens of the login are revoked (RFC 9700 §4.14.2).
            grants.deadFamilies.insert(entry.authorization.family)
            throw OAuthErrorResponse(code: "invalid_grant", description: "refresh token used twice")
        }
        guard grants.isAlive(text, rotation: settings.rotation, now: now) else {
            throw OAuthErrorResponse(code: "invalid_grant", description: "refresh token revoked or expired")
        }
        let granted = try narrowed(entry.authorization.bound(to: key), form)
        if entry.firstUsedAt == nil { entry.firstUsedAt = now }
        grants.refreshTokens[text] = entry
        return try tokens(
            granted,
            refreshToken: successor(of: text, entry.authorization.bound(to: key)),
            withIDToken: settings.refreshBringsIDToken
        )
    }

    private mutating func successor(
        of text: String,
        _ authorization: GrantLedger.Authorization
    ) -> String? {
        switch settings.rotation {
        case .none: settings.repeatsRefreshToken ? text : nil
        case .strict, .grace: newRefreshToken(authorization)
        }
    }

    /// Returns the authorization limited to the scope and audience requested for this access token.
    func narrowed(
        _ authorization: GrantLedger.Authorization,
        _ form: FormFields
    ) throws(OAuthErrorResponse) -> GrantLedger.Authorization {
        var narrowed = authorization
        if let scope = form["scope"] {
            let asked = scope.split(separator: " ").map(String.init)
            guard asked.allSatisfy(authorization.scope.contains) else {
                throw OAuthErrorResponse(code: "invalid_scope")
            }
            narrowed.scope = asked
        }
        if let audience = form["resource"] ?? form["audience"] {
            guard !settings.refusedAudiences.contains(audience) else {
                throw OAuthErrorResponse(code: "invalid_target")
            }
            narrowed.audience = audience
        }
        return narrowed
    }
}
