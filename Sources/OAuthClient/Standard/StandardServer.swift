// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// OAuth 2.0 and OpenID Connect by the book: kinds `oidc` and `oauth2`.
struct StandardServer: AuthorizationServer {
    let profile: ServerProfile
    let tools: ServerTools
    let discovery: Discovery
    let keys: KeySetCache
    let secrets: SecretReader

    /// `issuer`: the one that `profile` describes.
    init(profile: ServerProfile, issuer: Issuer, tools: ServerTools) {
        self.profile = profile
        self.tools = tools
        discovery = issuer.discovery
        keys = issuer.keys
        secrets = SecretReader(
            source: profile.client.proof.secret,
            memory: tools.memory,
            commands: tools.commands
        )
    }

    var heldSecrets: [SecretID] {
        get async { await secrets.held.map { [$0] } ?? [] }
    }

    /// The issuer of its ID tokens; `nil`: the configuration names none, so they may name any.
    var issuer: String? { profile.kind.identity.issuer }

    /// Whether an ID token that is asked for has to come and to be right, as in OpenID Connect.
    ///
    /// OAuth 2.0 alone promises none, so an ID token that is not believed is left out.
    var promisesIDTokens: Bool {
        if case .oidc = profile.kind { true } else { false }
    }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        do throws(TokenEndpoint.Refusal) {
            return .granted(try await StandardRefresh(server: self, request: request).run())
        } catch {
            if error.failure.code == "invalid_client" { await secrets.forget() }
            let failed = FailedRenewal(failure: error.failure, leftover: error.leftover)
            return tools.outcome(of: failed, renewing: request.renewal)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginConversing) async -> LoginOutcome {
        do throws(LoginStop) {
            let login = try await login(request, conversation)
            do throws(LoginStop) {
                return .granted(try await login.run(request.flow ?? profile.flow))
            } catch {
                if let key = login.proofKey { tools.memory.erase(key) }
                throw error
            }
        } catch {
            switch error {
            case .cancelled: return .cancelled
            case .failed(let failure):
                if failure.code == "invalid_client" { await secrets.forget() }
                return Task.isCancelled ? .cancelled : .failed(failure)
            }
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        await StandardRevocation(server: self, tokens: tokens).run()
    }

    /// Client credentials for requests to the endpoints of `metadata`.
    func authentication(listed: [ByteText]?) async throws(RefreshFailure) -> ClientAuthentication {
        ClientAuthentication(profile.client, secret: try await secrets.read(), listed: listed)
    }

    /// A new key, where tokens are to be bound to one.
    func proofKey(_ metadata: ServerMetadata?) throws(RefreshFailure) -> SecretID? {
        guard profile.bindsTokens else { return nil }
        if let algorithms = metadata?.proofAlgorithms, !algorithms.contains(ProofKey.algorithm.bytewise) {
            let message = "the server takes no DPoP proofs with \(ProofKey.algorithm): remove dpop"
            throw RefreshFailure(kind: .misconfigured, message: message)
        }
        return try ProofKey.make(in: tools.memory)
    }

    private func login(
        _ request: LoginRequest,
        _ conversation: any LoginConversing
    ) async throws(LoginStop) -> StandardLogin {
        do throws(RefreshFailure) {
            let metadata = try await discovery.metadata()
            return StandardLogin(
                server: self,
                metadata: metadata,
                authentication: try await authentication(listed: metadata.authenticationMethods),
                request: request,
                conversation: conversation,
                proofKey: try proofKey(metadata)
            )
        } catch {
            throw .failed(error)
        }
    }
}

/// Why a login brought no tokens.
enum LoginStop: Error {
    case failed(RefreshFailure)
    case cancelled
}
