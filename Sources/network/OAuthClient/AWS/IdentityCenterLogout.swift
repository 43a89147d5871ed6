// SPDX-License-Identifier: MIT

import TokenCore

/// A logout from IAM Identity Center, whose portal ends the login of an access token.
struct IdentityCenterLogout {
    var server: IdentityCenterServer
    var tokens: RevocationRequest

    func run() async -> RevocationOutcome {
        guard tokens.accessToken != nil || tokens.refreshToken != nil else { return .nothing }
        do throws(RefreshFailure) {
            try server.checkPin(tokens.tokenEndpoint)
            guard let accessToken = tokens.accessToken else { return try await renewAndLogOut() }
            do throws(RefreshFailure) {
                try await server.portal.logOut(accessToken)
                return .revoked
            } catch {
                guard error.kind == .sourceRefused else { throw error }
                // The access token has expired, but the login may still be valid.
                return try await renewAndLogOut()
            }
        } catch {
            // If the server no longer knows the login, the session is already logged out.
            return error.kind == .grantDead ? .revoked : RevocationOutcome(error)
        }
    }

    /// Refreshes and then logs out.
    ///
    /// After the server has replaced the refresh token, a failed logout cannot be retried with the old one.
    private func renewAndLogOut() async throws(RefreshFailure) -> RevocationOutcome {
        guard let refreshToken = tokens.refreshToken else { return .revoked }
        let client = try await server.knownClient(tokens.server)
        let renewed: GrantedTokens
        do throws(RefreshRequestError) {
            renewed = try await server.tokens(refreshing: refreshToken, as: client)
        } catch {
            throw error.failure
        }
        defer {
            for secret in [renewed.accessToken, renewed.refreshToken].compactMap(\.self) {
                server.tools.memory.erase(secret)
            }
        }
        do throws(RefreshFailure) {
            try await server.portal.logOut(renewed.accessToken)
            return .revoked
        } catch {
            return renewed.refreshToken == nil ? RevocationOutcome(error) : .refused(error)
        }
    }
}
