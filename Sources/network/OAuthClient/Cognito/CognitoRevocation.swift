// SPDX-License-Identifier: MIT

import TokenCore

/// A logout at a user pool.
///
/// The refresh token is revoked, or the user is signed out everywhere if the pool cannot revoke it.
struct CognitoRevocation {
    var server: CognitoServer
    var tokens: RevocationRequest

    func run() async -> RevocationOutcome {
        guard tokens.refreshToken != nil || tokens.accessToken != nil else { return .nothing }
        do throws(RefreshFailure) {
            try server.checkPin(tokens.tokenEndpoint)
            let endpoint = try server.endpoint()
            return await end(at: endpoint, clientSecret: try await server.secrets.read())
        } catch {
            return RevocationOutcome(error)
        }
    }

    private func end(at endpoint: CognitoEndpoint, clientSecret: SecretID?) async -> RevocationOutcome {
        guard let refreshToken = tokens.refreshToken else { return await signOut(at: endpoint) }
        let memory = server.tools.memory
        do throws(CognitoErrorResponse) {
            _ = try await endpoint.call(.revokeToken) { members throws(RefreshFailure) in
                members.add("ClientId", server.profile.client.id)
                if let clientSecret { try members.add("ClientSecret", clientSecret, from: memory) }
                try members.add("Token", refreshToken, from: memory)
            }
            return .revoked
        } catch {
            guard error.meansNoSuchOperation else { return RevocationOutcome(error.failure) }
            return await signOut(at: endpoint)
        }
    }

    private func signOut(at endpoint: CognitoEndpoint) async -> RevocationOutcome {
        guard let accessToken = tokens.accessToken else { return .unsupported(CognitoRevocation.unasked) }
        do throws(CognitoErrorResponse) {
            _ = try await endpoint.call(.globalSignOut) { members throws(RefreshFailure) in
                try members.add("AccessToken", accessToken, from: server.tools.memory)
            }
            return .revoked
        } catch {
            return error.meansNoSuchOperation
                ? .unsupported(CognitoRevocation.missing) : RevocationOutcome(error.failure)
        }
    }

    private static let unasked =
        "the pool does not support RevokeToken: its tokens remain valid until they expire"
    private static let missing =
        "the pool supports neither RevokeToken nor GlobalSignOut: its tokens remain valid until they expire"
}
