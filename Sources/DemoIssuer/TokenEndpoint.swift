// SPDX-License-Identifier: MIT

import Crypto
import StrictJSON

extension IssuerState {
    /// The token endpoint (RFC 6749 §3.2).
    mutating func token(_ request: IssuerRequest) throws -> IssuerReply {
        guard let client = registry.authenticate(request) else {
            throw OAuthRefusal(code: "invalid_client", status: 401)
        }
        let form = request.form
        switch form["grant_type"] {
        case "authorization_code": return try redeemCode(form, client: client)
        case "refresh_token": return try refresh(form, client: client)
        case "password": return try acceptPassword(form, client: client)
        case "client_credentials": return try acceptClientCredentials(form, client: client)
        case "urn:ietf:params:oauth:grant-type:device_code": return try pollDevice(form, client: client)
        case nil: throw OAuthRefusal(code: "invalid_request", description: "grant_type is missing")
        case .some: throw OAuthRefusal(code: "unsupported_grant_type")
        }
    }

    private mutating func redeemCode(_ form: FormFields, client: RegisteredClient) throws -> IssuerReply {
        guard let text = form["code"], var code = grants.codes[text], code.authorization.client == client.id,
            code.redirectURI == form["redirect_uri"]
        else { throw OAuthRefusal(code: "invalid_grant", description: "unknown code") }
        guard !code.isUsed else {
            // A code shown twice ends what it bought the first time (RFC 6749 §4.1.2).
            grants.deadFamilies.insert(code.authorization.family)
            throw OAuthRefusal(code: "invalid_grant", description: "code used twice")
        }
        let verifier = form["code_verifier"] ?? ""
        guard Base64.encodeForURL(SHA256.hash(data: Array(verifier.utf8))) == code.challenge else {
            throw OAuthRefusal(code: "invalid_grant", description: "wrong code_verifier")
        }
        code.isUsed = true
        grants.codes[text] = code
        return try firstTokens(code.authorization)
    }

    private mutating func acceptPassword(_ form: FormFields, client: RegisteredClient) throws -> IssuerReply {
        guard let user = form["username"].flatMap(registry.user), user.password == form["password"] else {
            throw OAuthRefusal(code: "invalid_grant", description: "wrong user name or password")
        }
        return try firstTokens(authorization(form, client: client, user: user.name))
    }

    private mutating func acceptClientCredentials(
        _ form: FormFields,
        client: RegisteredClient
    ) throws -> IssuerReply {
        guard client.secret != nil else { throw OAuthRefusal(code: "unauthorized_client") }
        let authorization = try authorization(form, client: client, user: nil)
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

    /// The answer that ends a login.
    mutating func firstTokens(_ authorization: GrantLedger.Authorization) throws -> IssuerReply {
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

    /// A token answer (RFC 6749 §5.1).
    mutating func tokens(
        _ authorization: GrantLedger.Authorization,
        refreshToken: String?,
        withIDToken: Bool
    ) throws -> IssuerReply {
        var object = JSONObject()
        object["access_token"] = .string(try newAccessToken(authorization))
        object["token_type"] = "Bearer"
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
