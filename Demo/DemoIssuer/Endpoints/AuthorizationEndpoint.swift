// SPDX-License-Identifier: MIT

extension IssuerState {
    /// Answers an authorization request as if the user had consented at once (RFC 6749 §4.1).
    ///
    /// `login_hint` selects the user. Without it the first user logs in.
    mutating func authorize(_ request: IssuerRequest) throws -> IssuerResponse {
        guard let query = authorizationParameters(request.query) else {
            return .html("<p>Unknown request.</p>", status: 400)
        }
        guard let client = request.query["client_id"].flatMap(registry.client),
            let redirectURI = query["redirect_uri"], redirectURI.isLoopbackRedirect
        else { return .html("<p>Unknown client or redirect address.</p>", status: 400) }
        guard case .deny(let error) = settings.authorization else {
            return try grantCode(query, client: client, redirectURI: redirectURI)
        }
        return redirect(redirectURI, [("error", error)], query, issuer: issuer)
    }

    private mutating func grantCode(
        _ query: FormFields,
        client: RegisteredClient,
        redirectURI: String
    ) throws -> IssuerResponse {
        guard query["response_type"] == "code" else {
            return redirect(redirectURI, [("error", "unsupported_response_type")], query, issuer: issuer)
        }
        guard query["code_challenge"] != nil, query["code_challenge_method"] == "S256" else {
            return redirect(redirectURI, [("error", "invalid_request")], query, issuer: issuer)
        }
        let code = RandomText.token("code")
        let user = query["login_hint"].flatMap(registry.user) ?? registry.users.first
        grants.codes[code] = GrantLedger.Code(
            authorization: GrantLedger.Authorization(
                client: client.id,
                user: user?.name,
                scope: try grantable(query["scope"]),
                audience: query["resource"] ?? query["audience"],
                nonce: query["nonce"],
                family: grants.newFamily()
            ),
            redirectURI: redirectURI,
            challenge: query["code_challenge"],
            keyThumbprint: settings.dpop == .off ? nil : query["dpop_jkt"]
        )
        return redirect(redirectURI, [("code", code)], query, issuer: claimedIssuer)
    }

    private var claimedIssuer: String? {
        guard case .approveAs(let other) = settings.authorization else { return issuer }
        return other
    }

    private func redirect(
        _ redirectURI: String,
        _ fields: [(String, String)],
        _ query: FormFields,
        issuer: String?
    ) -> IssuerResponse {
        var fields = fields
        if let state = query["state"] { fields.append(("state", state)) }
        if let issuer { fields.append(("iss", issuer)) }
        return .redirect(to: "\(redirectURI)?\(FormFields(fields).encoded)")
    }

    /// Returns the requested scopes that can be granted, in their order.
    func grantable(_ scope: String?) throws(OAuthErrorResponse) -> [String] {
        let asked = (scope ?? "").split(separator: " ").map(String.init)
        let granted = asked.filter(settings.knownScopes.contains)
        guard asked.isEmpty || !granted.isEmpty else { throw OAuthErrorResponse(code: "invalid_scope") }
        return granted
    }
}

extension String {
    /// Whether the URI has a loopback address, with any port (RFC 8252 §7.3).
    fileprivate var isLoopbackRedirect: Bool {
        ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"].contains(where: hasPrefix)
    }
}
