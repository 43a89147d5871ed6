// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// Revokes a token (RFC 7009 §2).
    ///
    /// An unknown token is not an error.
    mutating func revoke(_ request: IssuerRequest) throws -> IssuerResponse {
        guard let client = authenticated(request) else {
            throw OAuthErrorResponse(code: "invalid_client", status: 401)
        }
        let token = request.form["token"] ?? ""
        if let entry = grants.refreshTokens[token], entry.authorization.client == client.id {
            grants.deadFamilies.insert(entry.authorization.family)
        }
        if grants.accessTokens[token]?.authorization.client == client.id {
            grants.accessTokens[token] = nil
        }
        return IssuerResponse(status: 200)
    }

    /// Answers an introspection request (RFC 7662 §2), which does not count as a use of a refresh token.
    func introspect(_ request: IssuerRequest) throws -> IssuerResponse {
        let token = request.form["token"] ?? ""
        if let entry = grants.access(token, now: now) { return describe(entry.authorization) }
        guard grants.isAlive(token, rotation: settings.rotation, now: now),
            let entry = grants.refreshTokens[token]
        else { return .json(["active": false]) }
        return describe(entry.authorization)
    }

    private func describe(_ authorization: GrantLedger.Authorization) -> IssuerResponse {
        var object: JSONObject = [
            "active": true,
            "client_id": .string(authorization.client),
            "sub": .string(authorization.user ?? authorization.client),
            "scope": .string(authorization.scope.joined(separator: " ")),
        ]
        if let thumbprint = authorization.keyThumbprint { object["cnf"] = ["jkt": .string(thumbprint)] }
        return .json(.object(object))
    }

    /// Ends every login of `user`, or of all users, for an RP-initiated logout.
    ///
    /// `id_token_hint` is ignored.
    mutating func endSession(_ request: IssuerRequest) -> IssuerResponse {
        grants.kill(user: request.query["user"])
        guard let next = request.query["post_logout_redirect_uri"] else {
            return .html("<p>You are logged out.</p>")
        }
        let state = request.query["state"].map { "?" + FormFields([("state", $0)]).encoded } ?? ""
        return .redirect(to: next + state)
    }
}
