// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A login that requests more than the current one, for the same account.
extension StandardServer {
    /// Returns a copy of the server with the additional requirements of `request`.
    ///
    /// - Throws: `misconfigured` if `flow` cannot request them.
    func asking(for request: LoginRequest, by flow: LoginFlow) throws(RefreshFailure) -> StandardServer {
        guard let stepUp = request.stepUp else { return self }
        let objection: String? =
            if flow == .import {
                "an import sends no request to the server"
            } else if flow != .browser, !stepUp.contextClasses.isEmpty || stepUp.maximumAge != nil {
                "acr and maximum age require the browser flow"
            } else {
                nil
            }
        if let objection {
            throw RefreshFailure(kind: .misconfigured, message: objection, remedy: .set("--flow browser"))
        }
        var server = self
        var seen: Set<ByteText> = []
        // Request the granted scopes again: a new token replaces the old one.
        server.profile.scopes = (profile.scopes + (request.present?.scope ?? []) + stepUp.scopes)
            .filter { seen.insert($0.bytewise).inserted }
        if !stepUp.contextClasses.isEmpty {
            server.profile.authorization.contextClasses = stepUp.contextClasses
        }
        if let age = stepUp.maximumAge { server.profile.authorization.maximumAge = age }
        return server
    }

    /// Returns `grant`, unless it lacks a required ID token or belongs to another account than it must.
    ///
    /// - Throws: The reason the login is not accepted. The new tokens are revoked, and the current login
    ///   remains.
    func accepted(_ grant: LoginGrant, for request: LoginRequest) async throws(LoginError) -> LoginGrant {
        guard let objection = objection(to: grant, request) else { return grant }
        _ = await revoke(
            RevocationRequest(
                refreshToken: grant.renewal.refreshToken,
                accessToken: grant.tokens.accessToken,
                tokenEndpoint: grant.tokenEndpoint,
                server: grant.server
            )
        )
        let unused = [
            grant.renewal.refreshToken, grant.tokens.accessToken, grant.tokens.idToken?.secret,
        ]
        for secret in unused.compactMap(\.self) { tools.memory.erase(secret) }
        throw .failed(objection)
    }

    private func objection(to grant: LoginGrant, _ request: LoginRequest) -> RefreshFailure? {
        if profile.requiresIDToken, grant.tokens.idToken == nil {
            return RefreshFailure(
                kind: .misconfigured,
                message: "the server returned no ID token, which this session requires",
                remedy: .set("scopes to include openid, or remove id_token = \"required\"")
            )
        }
        // A client that logs in with its own credentials claims no account.
        guard let before = request.present?.subject, (request.flow ?? profile.flow) != .clientCredentials
        else {
            return nil
        }
        guard let subject = grant.subject else {
            return RefreshFailure(
                kind: .interactionRequired,
                code: "other_account",
                message: "the server returned no ID token to verify the account; the current login is kept",
                remedy: .retry("after a logout")
            )
        }
        guard request.stepUp != nil, subject.bytewise != before.bytewise else { return nil }
        let message = "logged in with another account; the current login is kept"
        return RefreshFailure(kind: .interactionRequired, code: "other_account", message: message)
    }
}
