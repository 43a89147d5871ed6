// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A server of kind `aws_sso`: IAM Identity Center, which also issues the credentials of the user's assigned
/// roles.
///
/// ``IdentityCenterTokenService`` registers the client and issues tokens, and ``AccessPortal`` issues credentials and logs
/// out.
///
/// - Entry points: ``refresh(_:)``, ``logIn(_:conversation:)``, ``revoke(_:)``.
/// - May not: send tokens to another token service than the one of the login.
struct IdentityCenterServer: AuthorizationServer {
    let profile: ServerProfile
    let center: IdentityCenter
    let tools: ServerDependencies

    var service: IdentityCenterTokenService {
        IdentityCenterTokenService(address: center.tokenService, trust: profile.trust, tools: tools)
    }

    var portal: AccessPortal { AccessPortal(address: center.portal, trust: profile.trust, tools: tools) }

    var heldSecrets: [SecretID] {
        get async { await tools.registrar.secrets(at: center.tokenService) }
    }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        guard request.variant == .primary else { return await role(request) }
        do throws(RefreshRequestError) {
            return .granted(try await renew(request))
        } catch {
            return tools.outcome(of: error, renewing: request.renewal)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        do throws(LoginError) {
            let login = IdentityCenterLogin(server: self, conversation: conversation)
            return .granted(try await login.run(request.flow ?? profile.flow))
        } catch {
            return error.outcome
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        await IdentityCenterLogout(server: self, tokens: tokens).run()
    }

    /// Fetches the credentials of a role with the current access token.
    private func role(_ request: RefreshRequest) async -> RefreshOutcome {
        do throws(RefreshFailure) {
            guard let role = AssignedAWSRole(request.variant) else {
                let message = "kind aws_sso does not support other scopes or audiences"
                throw RefreshFailure(kind: .variantRefused, message: message)
            }
            try checkPin(request.tokenEndpoint)
            var granted = try await portal.credentials(of: role, for: request.accessToken)
            granted.fingerprint = tools.memory.fingerprint(of: granted.accessToken)
            return .granted(granted)
        } catch {
            return .failed(error)
        }
    }

    private func renew(_ request: RefreshRequest) async throws(RefreshRequestError) -> GrantedTokens {
        let token: SecretID
        let client: ClientRegistration
        do throws(RefreshFailure) {
            guard let secret = request.renewal.refreshToken else {
                let message = "IAM Identity Center returned no refresh token"
                throw RefreshFailure(kind: .interactionRequired, message: message)
            }
            token = secret
            try checkPin(request.tokenEndpoint)
            client = try await knownClient(request.server)
        } catch {
            throw RefreshRequestError(failure: error)
        }
        return try await tokens(refreshing: token, as: client)
    }

    /// Refreshes with `token`, which was issued to `client`.
    func tokens(
        refreshing token: SecretID,
        as client: ClientRegistration
    ) async throws(RefreshRequestError) -> GrantedTokens {
        do throws(RefreshRequestError) {
            return try await tokens(as: client, by: "refresh_token", sent: token) {
                members throws(RefreshFailure) in
                try members.add("refreshToken", token, from: tools.memory)
            }
        } catch {
            var failed = error
            if failed.failure.code == "invalid_client" { failed.failure = .clientForgotten(failed.failure) }
            throw failed
        }
    }

    /// Sends one request for tokens (CreateToken).
    ///
    /// - Parameters:
    ///   - client: The client that requests the tokens.
    ///   - grantType: The grant type, as in OAuth.
    ///   - sent: The refresh token of the request.
    ///   - members: Adds the members of the grant.
    /// - Returns: The tokens, sealed.
    /// - Throws: The reason there are no tokens.
    func tokens(
        as client: ClientRegistration,
        by grantType: String,
        sent: SecretID? = nil,
        _ members: (JSONRequestBody.MemberWriter) throws(RefreshFailure) -> Void
    ) async throws(RefreshRequestError) -> GrantedTokens {
        var leftover: RescuableRefreshToken?
        do throws(RefreshFailure) {
            let (object, requestedAt) = try await service.post("/token", isRefresh: sent != nil) {
                body throws(RefreshFailure) in
                try client.add(to: body, tools.memory)
                body.add("grantType", grantType)
                try members(body)
            }
            leftover = RescuableRefreshToken(object, .identityCenter, requestedAt: requestedAt)
            let answer: TokenResponse
            do throws(TokenResponse.Problem) {
                answer = try TokenResponse(object, .identityCenter)
            } catch {
                throw error.failure(of: "IAM Identity Center")
            }
            var granted = try tools.seal(answer, requestedAt: requestedAt, sent: sent)
            // A refresh token is valid only together with its client.
            granted.refreshLifetime = client.secretExpiresAt.map {
                RefreshLifetime(min(max(.zero, $0 - tools.timekeeper.wallTime), LifetimeParser.longest))
            }
            return granted
        } catch {
            throw RefreshRequestError(failure: error, leftover: leftover)
        }
    }

    /// Checks that the tokens were issued by the configured service.
    ///
    /// Tokens must not be sent to another service.
    func checkPin(_ tokenEndpoint: String?) throws(RefreshFailure) {
        guard let tokenEndpoint, tokenEndpoint.bytewise != center.tokenService.bytewise else { return }
        let message = "the tokens are from \(tokenEndpoint), which is no longer configured"
        throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message), needsLogin: true)
    }
}
