// SPDX-License-Identifier: MIT

import Crypto
import Text

extension IssuerState {
    /// Answers a token request (RFC 6749 §3.2).
    mutating func token(_ request: IssuerRequest) throws -> IssuerResponse {
        let client = authenticated(request)
        let isAssertion = request.form["grant_type"] == IssuerState.assertionGrant
        guard client != nil || isAssertion && registry.namesNobody(request) else {
            throw OAuthErrorResponse(code: "invalid_client", status: 401)
        }
        let key = try provenKey(request)
        var reply: IssuerResponse
        if let client {
            reply = try answer(request.form, client: client, key: key)
        } else {
            reply = try acceptAssertion(request.form, client: nil, key: key)
        }
        reply.headers += nextNonce(afterProofOf: key)
        return reply
    }

    private mutating func answer(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerResponse {
        switch form["grant_type"] {
        case "authorization_code": return try redeemCode(form, client: client, key: key)
        case "refresh_token": return try refresh(form, client: client, key: key)
        case "password": return try acceptPassword(form, client: client, key: key)
        case "client_credentials": return try acceptClientCredentials(form, client: client, key: key)
        case "urn:ietf:params:oauth:grant-type:token-exchange":
            return try exchangeToken(form, client: client, key: key)
        case IssuerState.assertionGrant where !registry.signers.isEmpty:
            return try acceptAssertion(form, client: client, key: key)
        case "urn:ietf:params:oauth:grant-type:device_code":
            return try pollDevice(form, client: client, key: key)
        case nil: throw OAuthErrorResponse(code: "invalid_request", description: "grant_type is missing")
        case .some: throw OAuthErrorResponse(code: "unsupported_grant_type")
        }
    }

    private mutating func redeemCode(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerResponse {
        guard let text = form["code"], var code = grants.codes[text], code.authorization.client == client.id,
            code.redirectURI == form["redirect_uri"]
        else { throw OAuthErrorResponse(code: "invalid_grant", description: "unknown code") }
        guard !code.isUsed else {
            // A code used twice revokes the tokens of its first use (RFC 6749 §4.1.2).
            grants.deadFamilies.insert(code.authorization.family)
            throw OAuthErrorResponse(code: "invalid_grant", description: "code used twice")
        }
        let verifier = form["code_verifier"] ?? ""
        guard Base64.urlEncoded(SHA256.hash(data: Array(verifier.utf8))) == code.challenge else {
            throw OAuthErrorResponse(code: "invalid_grant", description: "wrong code_verifier")
        }
        guard code.keyThumbprint == nil || code.keyThumbprint == key else {
            throw OAuthErrorResponse(code: "invalid_grant", description: "not the key of dpop_jkt")
        }
        code.isUsed = true
        grants.codes[text] = code
        return try firstTokens(code.authorization, boundTo: key)
    }

    private mutating func acceptPassword(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerResponse {
        guard let user = form["username"].flatMap(registry.user), user.password == form["password"] else {
            throw OAuthErrorResponse(code: "invalid_grant", description: "wrong user name or password")
        }
        return try firstTokens(authorization(form, client: client, user: user.name), boundTo: key)
    }

    private mutating func acceptClientCredentials(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerResponse {
        guard client.secret != nil || registry.vouchers[client.id] != nil else {
            throw OAuthErrorResponse(code: "unauthorized_client")
        }
        let authorization = try authorization(form, client: client, user: nil).bound(to: key)
        return try tokens(authorization, refreshToken: nil, withIDToken: false)
    }

    private mutating func authorization(
        _ form: FormFields,
        client: RegisteredClient,
        user: String?
    ) throws -> GrantLedger.Authorization {
        GrantLedger.Authorization(
            client: client.id,
            user: user,
            scope: try grantable(form["scope"]),
            audience: form["resource"] ?? form["audience"],
            family: grants.newFamily()
        )
    }

    /// Returns the response that completes a login.
    mutating func firstTokens(
        _ granted: GrantLedger.Authorization,
        boundTo key: String?
    ) throws -> IssuerResponse {
        let authorization = granted.bound(to: key)
        let offline = authorization.scope.contains("offline_access")
        let refreshToken: String? =
            switch settings.refreshTokens {
            case .always: newRefreshToken(authorization)
            case .withOfflineAccess: offline ? newRefreshToken(authorization) : nil
            case .never: nil
            }
        return try tokens(authorization, refreshToken: refreshToken, withIDToken: true)
    }

    mutating func newRefreshToken(_ authorization: GrantLedger.Authorization) -> String {
        let token = RandomText.token("rt")
        grants.refreshTokens[token] = GrantLedger.RefreshToken(
            authorization: authorization,
            expiresAt: settings.refreshLifetime.map { now + $0 }
        )
        return token
    }

    /// Returns a token response (RFC 6749 §5.1), which contains the token's type after an exchange (RFC 8693
    /// §2.2.1).
    mutating func tokens(
        _ authorization: GrantLedger.Authorization,
        refreshToken: String?,
        withIDToken: Bool,
        issuedTokenType: String? = nil
    ) throws -> IssuerResponse {
        let key = settings.ignoresProofs ? nil : authorization.keyThumbprint
        var object = JSONObject()
        object["access_token"] = .string(try newAccessToken(authorization.bound(to: key)))
        object["token_type"] = key == nil ? "Bearer" : "DPoP"
        if let issuedTokenType { object["issued_token_type"] = .string(issuedTokenType) }
        if settings.tellsExpiry {
            object["expires_in"] = .integer(settings.accessLifetime.components.seconds)
        }
        if let refreshToken {
            object["refresh_token"] = .string(refreshToken)
            if settings.tellsRefreshExpiry, let lifetime = settings.refreshLifetime {
                object["refresh_expires_in"] = .integer(lifetime.components.seconds)
            }
        }
        if !authorization.scope.isEmpty {
            object["scope"] = .string(authorization.scope.joined(separator: " "))
        }
        if withIDToken, authorization.scope.contains("openid") {
            object["id_token"] = .string(try idToken(authorization))
        }
        return .json(.object(object))
    }

    private mutating func newAccessToken(_ authorization: GrantLedger.Authorization) throws -> String {
        let token: String =
            switch settings.accessTokenFormat {
            case .opaque: RandomText.token("at")
            case .jwt: try signedAccessToken(authorization)
            }
        grants.accessTokens[token] = GrantLedger.IssuedToken(
            authorization: authorization,
            expiresAt: now + settings.accessLifetime
        )
        return token
    }
}
