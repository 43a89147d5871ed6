// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// OAuth 2.0 and OpenID Connect by the book: kinds `oidc` and `oauth2`.
struct StandardServer: AuthorizationServer {
    /// A login may ask for more than the configuration says.
    var profile: ServerProfile
    let tools: ServerDependencies
    let discovery: Discovery
    let keys: KeySetCache
    /// Of the secret, or of the key, by which the client proves who it is.
    var secrets: SecretReader
    /// What was found out about how the client proves itself.
    let learned = LearnedAuthentication()
    /// What is shown in place of a login; `nil`: there are logins, or another session has it.
    let assertions: GrantAssertions?

    /// `issuer`: the one that `profile` describes.
    init(profile: ServerProfile, issuer: Issuer, tools: ServerDependencies) {
        self.profile = profile
        self.tools = tools
        discovery = issuer.discovery
        keys = issuer.keys
        secrets = SecretReader(of: profile, tools)
        assertions = GrantAssertions(profile, tools)
    }

    var heldSecrets: [SecretID] {
        get async {
            let registered: [SecretID] =
                if lacksClient, let address { await tools.registrar.secrets(at: address) } else { [] }
            return registered + [await secrets.held, await assertions?.held].compactMap(\.self)
        }
    }

    /// The issuer of its ID tokens; `nil`: the configuration names none, so they may name any.
    var issuer: String? { profile.kind.identity.issuer }

    /// Where the metadata is: the clients that the server registers belong to it, as it may name any issuer.
    var address: String? {
        if case .oidc(let issuer, let metadata) = profile.kind { metadata ?? issuer } else { issuer }
    }

    /// Whether an ID token that is asked for has to come and to be right, as in OpenID Connect.
    ///
    /// OAuth 2.0 alone promises none, so an ID token that is not believed is left out.
    var promisesIDTokens: Bool {
        if case .oidc = profile.kind { true } else { false }
    }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        let server: StandardServer
        do throws(RefreshFailure) {
            server = try await knownClient(request.server)
        } catch {
            return .failed(error)
        }
        do throws(TokenEndpoint.Refusal) {
            let granted = try await StandardRefresh(server: server, request: request).run()
            await noteSecret(isAccepted: true)
            return .granted(granted)
        } catch {
            var failure = error.failure
            if failure.kind == .grantDead || failure.kind.consequences.blamesClient {
                await assertions?.forget()
            }
            if failure.code == "invalid_client" {
                await noteSecret(isAccepted: false)
                await secrets.forget()
                if let document = server.profile.client.introduction?.document,
                    document.bytewise == server.profile.client.id.bytewise
                {
                    // The server has registered nothing that it could forget: it reads the document each time.
                    failure.remedy = "see that the server can read \(document)"
                } else if lacksClient {
                    failure = .clientForgotten(failure)
                }
            }
            let failed = FailedRenewal(failure: failure, leftover: error.leftover)
            return tools.outcome(of: failed, renewing: request.renewal)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        do throws(LoginError) {
            let login = try await login(request, conversation)
            do throws(LoginError) {
                let grant = try await login.run(request.flow ?? profile.flow).as(login.registeredClient)
                await noteSecret(isAccepted: true)
                return .granted(try await accepted(grant, for: request))
            } catch {
                if case .failed(let failure) = error, failure.code == "invalid_client", lacksClient {
                    await login.server.forgetClient()
                }
                if let key = login.proofKey { tools.memory.erase(key) }
                throw error
            }
        } catch {
            if case .failed(let failure) = error, failure.code == "invalid_client" {
                await noteSecret(isAccepted: false)
                await secrets.forget()
            }
            return error.outcome
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        do throws(RefreshFailure) {
            return await StandardRevocation(server: try await knownClient(tokens.server), tokens: tokens)
                .run()
        } catch {
            return RevocationOutcome(error)
        }
    }

    /// Notes what the server has said of a secret that a person has given.
    private func noteSecret(isAccepted: Bool) async {
        guard let purpose = profile.givenSecret, let secret = await secrets.held else { return }
        guard isAccepted else { return await tools.registrar.rejected(secret) }
        await tools.registrar.accepted(secret, for: purpose, of: profile.client.id)
    }

    /// The client's proof for requests to the endpoints of `metadata`; `nil`: of a server that is not looked at.
    func authentication(_ metadata: ServerMetadata?) async throws(RefreshFailure) -> ClientAuthentication {
        ClientAuthentication(
            clientID: profile.client.id,
            proof: try await proof(metadata),
            learned: profile.client.proof.isOpen(listed: metadata?.authenticationMethods) ? learned : nil
        )
    }

    /// `metadata` with the endpoints at which this client proves itself (RFC 8705 §5).
    func endpoints(of metadata: ServerMetadata) -> ServerMetadata {
        if case .certificate = profile.client.proof { metadata.forCertificates } else { metadata }
    }

    /// The secret that the server knows too, with which it may sign ID tokens.
    func sharedSecret() async throws(RefreshFailure) -> SecretID? {
        profile.client.proof.secret == nil ? nil : try await secrets.read()
    }

    private func proof(
        _ metadata: ServerMetadata?
    ) async throws(RefreshFailure) -> ClientAuthentication.Proof {
        if case .externalAssertion(let source, let audience) = profile.client.proof {
            let ready = ExternalAssertion(source: source, name: "client_assertion", workflow: tools.workflow)
            return .assertion(try assertions(.ready(ready), audience, metadata))
        }
        guard let secret = try await secrets.read() else { return .none }
        switch profile.client.proof {
        case .none, .externalAssertion: return .none
        case .certificate(let path, _):
            let certificate = ClientCertificate(path: path, key: secrets)
            // What is wrong with it is said before anything is sent.
            _ = try await certificate.identity(tools)
            return .certificate(certificate)
        case .secret(_, let method):
            let known = method == .automatic ? learned.placement ?? method : method
            return ClientAuthentication.proof(secret, known, listed: metadata?.authenticationMethods)
        case .secretAssertion(_, let audience):
            return .assertion(try assertions(.sharedSecret(secret), audience, metadata))
        case .keyAssertion(let key, let audience):
            return .assertion(try assertions(.key(secret, identifier: key.identifier), audience, metadata))
        }
    }

    private func assertions(
        _ voucher: ClientAssertions.AssertionSigner,
        _ audience: AssertionAudience,
        _ metadata: ServerMetadata?
    ) throws(RefreshFailure) -> ClientAssertions {
        let assertions = ClientAssertions(
            clientID: profile.client.id,
            voucher: voucher,
            audience: audience,
            issuer: metadata?.issuer ?? issuer,
            listed: metadata?.assertionAlgorithms,
            reader: secrets
        )
        try assertions.check(tools.memory)
        return assertions
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
        _ conversation: any LoginPrompting
    ) async throws(LoginError) -> StandardLogin {
        do throws(RefreshFailure) {
            let metadata = endpoints(of: try await discovery.metadata())
            let server = try await asking(for: request, by: request.flow ?? profile.flow)
                .clientForLogin(metadata, request)
            return StandardLogin(
                server: server,
                metadata: metadata,
                authentication: try await server.authentication(metadata),
                request: request,
                conversation: conversation,
                proofKey: try proofKey(metadata),
                registeredClient: lacksClient
                    ? DiscoveredServer(issuer: issuer ?? "", client: server.profile.client.id) : nil
            )
        } catch {
            throw .failed(error)
        }
    }
}

extension LoginGrant {
    /// The grant of a login for which the client was found out.
    fileprivate func `as`(_ found: DiscoveredServer?) -> LoginGrant {
        guard let found else { return self }
        var grant = self
        grant.server = found
        return grant
    }
}

/// Why a login brought no tokens.
enum LoginError: Error {
    case failed(RefreshFailure)
    case cancelled

    /// What becomes of the login; of one that is cancelled by now no failure is told.
    var outcome: LoginOutcome {
        guard case .failed(let failure) = self, !Task.isCancelled else { return .cancelled }
        return .failed(failure)
    }
}
