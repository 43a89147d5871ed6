// SPDX-License-Identifier: MIT

import Text

extension IssuerState {
    /// Answers a device authorization request (RFC 8628 §3.1).
    mutating func startDevice(_ request: IssuerRequest) throws -> IssuerResponse {
        guard let client = authenticated(request) else {
            throw OAuthErrorResponse(code: "invalid_client", status: 401)
        }
        let deviceCode = RandomText.token("device")
        let grant = DeviceGrant(
            userCode: RandomText.userCode(),
            client: client.id,
            scope: try grantable(request.form["scope"]),
            audience: request.form["resource"] ?? request.form["audience"],
            nonce: request.form["nonce"],
            interval: .seconds(settings.deviceInterval),
            expiresAt: now + settings.deviceLifetime
        )
        grants.devices[deviceCode] = grant
        return .json([
            "device_code": .string(deviceCode),
            "user_code": .string(grant.userCode),
            "verification_uri": .string("\(issuer)/device"),
            "verification_uri_complete": .string("\(issuer)/device?user_code=\(grant.userCode)"),
            "expires_in": .integer(settings.deviceLifetime.components.seconds),
            "interval": .integer(settings.deviceInterval),
        ])
    }

    /// Applies the user's decision at the verification page, from `user_code` and `user` or `deny`.
    mutating func decideDevice(_ form: FormFields) throws -> IssuerResponse {
        let typed = form["user_code"] ?? ""
        guard let code = grants.devices.first(where: { $0.value.userCode == typed })?.key else {
            return .html("<p>Unknown code.</p>", status: 404)
        }
        let user = form["user"] ?? registry.users.first?.name ?? "nobody"
        grants.devices[code]?.decision = form["deny"] == nil ? .approved(user: user) : .denied
        return .html("<p>Done. You may close this page.</p>")
    }

    /// Answers one poll of the token endpoint (RFC 8628 §3.4).
    mutating func pollDevice(
        _ form: FormFields,
        client: RegisteredClient,
        key: String?
    ) throws -> IssuerResponse {
        guard let code = form["device_code"], var grant = grants.devices[code], grant.client == client.id
        else { throw OAuthErrorResponse(code: "invalid_grant") }
        if settings.approvesDevices, grant.decision == .pending {
            grant.decision = .approved(user: registry.users.first?.name ?? "nobody")
        }
        let outcome = judge(&grant)
        grants.devices[code] = grant
        return try firstTokens(outcome.get(), boundTo: key)
    }

    private mutating func judge(
        _ grant: inout DeviceGrant
    ) -> Result<GrantLedger.Authorization, OAuthErrorResponse> {
        let previous = grant.lastPoll
        grant.lastPoll = now
        guard now < grant.expiresAt else { return .failure(OAuthErrorResponse(code: "expired_token")) }
        // A tenth of a second is allowed for the network, so that only clearly early polls must slow down.
        if let previous, now - previous + .milliseconds(100) < grant.interval {
            grant.interval += .seconds(5)
            return .failure(OAuthErrorResponse(code: "slow_down"))
        }
        switch grant.decision {
        case .pending: return .failure(OAuthErrorResponse(code: "authorization_pending"))
        case .denied: return .failure(OAuthErrorResponse(code: "access_denied"))
        case .used: return .failure(OAuthErrorResponse(code: "invalid_grant"))
        case .approved(let user):
            grant.decision = .used
            return .success(
                GrantLedger.Authorization(
                    client: grant.client,
                    user: user,
                    scope: grant.scope,
                    audience: grant.audience,
                    nonce: grant.nonce,
                    family: grants.newFamily()
                )
            )
        }
    }
}
