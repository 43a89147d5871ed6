// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// IAM Identity Center, to which a person logs in, and which gives the credentials of the roles assigned to that
/// person: kind `aws_sso`.
struct IdentityCenterServer: AuthorizationServer {
    let profile: ServerProfile
    let center: IdentityCenter
    let tools: ServerDependencies

    var service: TokenService {
        TokenService(address: center.tokenService, trust: profile.trust, tools: tools)
    }

    var portal: AccessPortal { AccessPortal(address: center.portal, trust: profile.trust, tools: tools) }

    var heldSecrets: [SecretID] {
        get async { await tools.registrar.secrets(at: center.tokenService) }
    }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        guard request.variant == .primary else { return await role(request) }
        do throws(FailedRenewal) {
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

    /// The credentials of a role, which are had for the present access token.
    private func role(_ request: RefreshRequest) async -> RefreshOutcome {
        do throws(RefreshFailure) {
            guard let role = AssignedRole(request.variant) else {
                let message = "sessions of kind aws_sso have roles, and no other scopes or audiences"
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

    private func renew(_ request: RefreshRequest) async throws(FailedRenewal) -> GrantedTokens {
        let token: SecretID
        let client: ClientRegistration
        do throws(RefreshFailure) {
            guard case .refreshToken(let secret) = request.renewal else {
                let message = "IAM Identity Center gave no refresh token: log in again"
                throw RefreshFailure(kind: .interactionRequired, message: message)
            }
            token = secret
            try checkPin(request.tokenEndpoint)
            client = try await knownClient(request.server)
        } catch {
            throw FailedRenewal(failure: error)
        }
        return try await tokens(refreshing: token, as: client)
    }

    /// Spends `token`, which was given to `client`.
    func tokens(
        refreshing token: SecretID,
        as client: ClientRegistration
    ) async throws(FailedRenewal) -> GrantedTokens {
        do throws(FailedRenewal) {
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
    ///   - client: who asks.
    ///   - grantType: as in OAuth.
    ///   - sent: the refresh token of the request.
    ///   - members: adds what the grant needs.
    /// - Returns: the tokens, sealed.
    /// - Throws: why there are none.
    func tokens(
        as client: ClientRegistration,
        by grantType: String,
        sent: SecretID? = nil,
        _ members: (JSONRequestBody.Members) throws(RefreshFailure) -> Void
    ) async throws(FailedRenewal) -> GrantedTokens {
        var leftover: Leftover?
        do throws(RefreshFailure) {
            let (object, requestedAt) = try await service.post("/token", isRefresh: sent != nil) {
                body throws(RefreshFailure) in
                try client.add(to: body, tools.memory)
                body.add("grantType", grantType)
                try members(body)
            }
            leftover = Leftover(object, .identityCenter, requestedAt: requestedAt)
            let answer: TokenResponse
            do throws(TokenResponse.Problem) {
                answer = try TokenResponse(identityCenter: object)
            } catch {
                throw error.failure(of: "IAM Identity Center")
            }
            var granted = try tools.seal(answer, requestedAt: requestedAt, sent: sent)
            // A refresh token is good for its client alone.
            granted.refreshLifetime = client.secretExpiresAt.map {
                RefreshLifetime(min(max(.zero, $0 - tools.timekeeper.wallTime), LifetimeMember.longest))
            }
            return granted
        } catch {
            throw FailedRenewal(failure: error, leftover: leftover)
        }
    }

    /// The tokens of one place are not shown to another that has taken its place in the configuration.
    func checkPin(_ tokenEndpoint: String?) throws(RefreshFailure) {
        guard let tokenEndpoint, tokenEndpoint.bytewise != center.tokenService.bytewise else { return }
        let message = "the tokens are of \(tokenEndpoint), which the configuration no longer names"
        throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message), needsLogin: true)
    }
}
