// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A login that asks for more than the one that stands, for the same account.
extension StandardServer {
    /// This server, asking for what `request` wants beside the configuration.
    ///
    /// - Throws: `misconfigured` if `flow` has no way to ask for it.
    func asking(for request: LoginRequest, by flow: LoginFlow) throws(RefreshFailure) -> StandardServer {
        guard let stepUp = request.stepUp else { return self }
        let objection: String? =
            if flow == .import {
                "an import asks the server for nothing"
            } else if flow != .browser, !stepUp.contextClasses.isEmpty || stepUp.maximumAge != nil {
                "only flow browser can ask for acr and a maximum age"
            } else {
                nil
            }
        if let objection {
            let remedy = "log in with --flow browser"
            throw RefreshFailure(kind: .misconfigured, message: objection, remedy: remedy)
        }
        var server = self
        var seen: Set<ByteText> = []
        // What was granted comes along: a new token replaces the old one.
        server.profile.scopes = (profile.scopes + (request.present?.scope ?? []) + stepUp.scopes)
            .filter { seen.insert($0.bytewise).inserted }
        if !stepUp.contextClasses.isEmpty {
            server.profile.authorization.contextClasses = stepUp.contextClasses
        }
        if let age = stepUp.maximumAge { server.profile.authorization.maximumAge = age }
        return server
    }

    /// `grant`, unless it is of another account than the login it was to step up from.
    ///
    /// - Throws: `interactionRequired`; the tokens are revoked, and the login that stands stays.
    func ofSameAccount(_ grant: LoginGrant, as request: LoginRequest) async throws(LoginStop) -> LoginGrant {
        guard request.stepUp != nil, let before = request.present?.subject,
            grant.subject?.bytewise != before.bytewise
        else { return grant }
        let whose =
            grant.subject == nil
            ? "of nobody that the server names" : "of another account than the present one"
        let refreshToken: SecretID? = if case .refreshToken(let token) = grant.renewal { token } else { nil }
        _ = await revoke(
            RevocationRequest(
                refreshToken: refreshToken,
                accessToken: grant.tokens.accessToken,
                tokenEndpoint: grant.tokenEndpoint,
                server: grant.server
            )
        )
        for secret in [refreshToken, grant.tokens.accessToken, grant.tokens.idToken?.secret].compactMap(
            \.self
        ) {
            tools.memory.erase(secret)
        }
        let message = "the login is \(whose); the present one stays"
        throw .failed(RefreshFailure(kind: .interactionRequired, code: "other_account", message: message))
    }
}
