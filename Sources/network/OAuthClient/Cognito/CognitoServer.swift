// SPDX-License-Identifier: MIT

import ServerSettings
import Synchronization
import Text
import TokenCore

/// A server of kind `cognito`: an Amazon Cognito user pool, accessed in Amazon's own protocol.
///
/// ``CognitoEndpoint`` sends the requests, and ``CognitoErrorResponse`` classifies the errors.
///
/// - Entry points: ``refresh(_:)``, ``logIn(_:conversation:)``, ``revoke(_:)``. ``CognitoLogin``,
///   ``CognitoRefresh`` and ``CognitoRevocation`` do the work.
/// - May not: send tokens to another pool than the one of the login.
struct CognitoServer: AuthorizationServer {
    let profile: ServerProfile
    let pool: CognitoPool
    let tools: ServerDependencies
    let secrets: SecretReader
    let learned = LearnedSettings()

    /// The settings that the pool has shown by its responses.
    final class LearnedSettings: Sendable {
        /// A flag that is set if `GetTokensFromRefreshToken` worked after `REFRESH_TOKEN_AUTH` had failed.
        let rotates = Atomic(false)
    }

    init(profile: ServerProfile, pool: CognitoPool, tools: ServerDependencies) {
        self.profile = profile
        self.pool = pool
        self.tools = tools
        secrets = SecretReader(of: profile, tools)
    }

    var heldSecrets: [SecretID] {
        get async { await secrets.held.map { [$0] } ?? [] }
    }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        do throws(RefreshRequestError) {
            return .granted(try await renew(request))
        } catch {
            if error.failure.kind.consequences.blamesClient { await secrets.forget() }
            return tools.outcome(of: error, renewing: request.renewal)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        let dialogue = CredentialPrompts(request: request, conversation: conversation, memory: tools.memory)
        do throws(LoginError) {
            let login = CognitoLogin(server: self, dialogue: dialogue)
            return .granted(try await login.run(request.flow ?? profile.flow))
        } catch {
            if case .failed(let failure) = error, failure.kind.consequences.blamesClient {
                await secrets.forget()
            }
            return error.outcome
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        await CognitoRevocation(server: self, tokens: tokens).run()
    }

    private func renew(_ request: RefreshRequest) async throws(RefreshRequestError) -> GrantedTokens {
        let token: SecretID
        let identity: CognitoUserClaims
        do throws(RefreshFailure) {
            token = try refreshToken(of: request)
            identity = CognitoUserClaims(
                accessToken: try request.accessToken.map { id throws(RefreshFailure) in
                    try tools.memory.text(of: id)
                },
                idToken: try request.idToken.map { id throws(RefreshFailure) in try tools.memory.text(of: id)
                }
            )
        } catch {
            throw RefreshRequestError(failure: error)
        }
        return try await renew(token, identity, idToken: request.idToken).tokens
    }

    private func refreshToken(of request: RefreshRequest) throws(RefreshFailure) -> SecretID {
        guard request.variant == .primary else {
            let message = "kind cognito does not support scopes or audiences"
            throw RefreshFailure(kind: .variantRefused, message: message)
        }
        guard let token = request.renewal.refreshToken else {
            let message = "the pool returned no refresh token"
            throw RefreshFailure(kind: .interactionRequired, message: message)
        }
        try checkPin(request.tokenEndpoint)
        return token
    }

    /// Refreshes with `token`, and checks the new ID token against `idToken`.
    func renew(
        _ token: SecretID,
        _ identity: CognitoUserClaims,
        idToken: SecretID? = nil
    ) async throws(RefreshRequestError) -> (tokens: GrantedTokens, identity: CognitoUserClaims) {
        var leftover: RescuableRefreshToken?
        do throws(RefreshFailure) {
            let refresh = CognitoRefresh(
                pool: pool,
                clientID: profile.client.id,
                clientSecret: try await secrets.read(),
                endpoint: try endpoint(),
                learned: learned,
                token: token,
                identity: identity
            )
            let (result, reply, requestedAt) = try await refresh.run()
            leftover = RescuableRefreshToken(result, .cognito, requestedAt: requestedAt)
            return try grant(result, of: reply, requestedAt, sent: token, original: idToken)
        } catch {
            throw RefreshRequestError(failure: error, leftover: leftover)
        }
    }

    /// Returns the tokens of a response, with the ID token only if it is valid.
    ///
    /// The signature of the ID token is not verified, because it comes directly from the pool (OIDC Core
    /// §3.1.3.7 (6)).
    func grant(
        _ result: JSONObject,
        of reply: TokenResponseBody,
        _ requestedAt: Instant,
        sent: SecretID? = nil,
        original: SecretID? = nil
    ) throws(RefreshFailure) -> (tokens: GrantedTokens, identity: CognitoUserClaims) {
        var answer: TokenResponse
        do throws(TokenResponse.Problem) {
            answer = try TokenResponse(result, .cognito)
            answer.note(reply)
        } catch {
            throw error.failure(of: "Cognito")
        }
        let identity = CognitoUserClaims(accessToken: answer.accessToken, idToken: answer.idToken)
        var remarks: [GrantWarning] = []
        do throws(RefreshFailure) {
            if let problem = answer.idTokenProblem {
                throw RefreshFailure(kind: .misbehaved, message: problem)
            }
            try check(answer.idToken, against: original)
        } catch {
            // At a refresh, an invalid ID token is left out unless it belongs to another user. The other
            // tokens are valid.
            guard sent != nil, error.kind != .identityChanged else { throw error }
            answer.idToken = nil
            remarks = [.idTokenDropped(error.message)]
        }
        return (try tools.seal(answer, requestedAt: requestedAt, sent: sent, remarks: remarks), identity)
    }

    private func check(_ idToken: String?, against original: SecretID?) throws(RefreshFailure) {
        guard let idToken else { return }
        let issuer = pool.endpoint == nil ? pool.issuer : nil
        let before = try original.map { id throws(RefreshFailure) in try tools.memory.text(of: id) }
        try CognitoIDTokenRules(issuer: issuer, clientID: profile.client.id).check(idToken, against: before)
    }

    /// Checks that the tokens were issued by the configured pool.
    ///
    /// Tokens must not be sent to another pool.
    func checkPin(_ tokenEndpoint: String?) throws(RefreshFailure) {
        guard let tokenEndpoint, tokenEndpoint != pool.url else { return }
        let message = "the tokens are from \(tokenEndpoint), which is no longer configured"
        throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message), needsLogin: true)
    }

    func endpoint() throws(RefreshFailure) -> CognitoEndpoint {
        CognitoEndpoint(url: try EndpointURL(pool.url, of: "endpoint"), trust: profile.trust, tools: tools)
    }
}
