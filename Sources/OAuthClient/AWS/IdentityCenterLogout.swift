// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// Ends a login to IAM Identity Center, which its portal does for whoever shows an access token.
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
                // The access token has ended; the login may not have.
                return try await renewAndLogOut()
            }
        } catch {
            // A login that the server no longer knows is as good as logged out.
            return error.kind == .grantDead ? .revoked : RevocationOutcome(error)
        }
    }

    /// Once the server has replaced the refresh token, a failed logout cannot be tried again with the old one.
    private func renewAndLogOut() async throws(RefreshFailure) -> RevocationOutcome {
        guard let refreshToken = tokens.refreshToken else { return .revoked }
        let client = try await server.knownClient(tokens.server)
        let renewed: GrantedTokens
        do throws(FailedRenewal) {
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
