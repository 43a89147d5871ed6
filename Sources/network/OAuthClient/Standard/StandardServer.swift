// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A server of kind `oidc` or `oauth2`, with OAuth 2.0 and OpenID Connect as in the specifications.
///
/// A copy of the server is made for each request, and may have another client or more scopes than the
/// configuration.
///
/// - Entry points: ``refresh(_:)``, ``logIn(_:conversation:)``, ``revoke(_:)``. ``StandardRefresh``,
///   ``StandardLogin`` and ``StandardRevocation`` do the work.
/// - May not: use a response before its ID token is validated, or send a refresh token to another origin than
///   the one of the login.
struct StandardServer: AuthorizationServer {
    /// The configuration of the server.
    ///
    /// A login may request more scopes than the configuration.
    var profile: ServerProfile
    let tools: ServerDependencies
    let discovery: ServerMetadataCache
    let keys: KeySetCache
    /// The reader of the secret or key that proves the client's identity.
    var secrets: SecretReader
    /// The reader of the key of a certificate that is shown besides a secret.
    private let certificateKey: SecretReader?
    /// The ways to prove the client's identity that the server has accepted.
    let learned = LearnedAuthentication()
    /// The assertions sent instead of a login, or `nil` if there are logins or another session provides the
    /// token.
    let assertions: GrantAssertions?

    /// Creates a server of `issuer`, which must be the issuer that `profile` describes.
    init(profile: ServerProfile, issuer: Issuer, tools: ServerDependencies) {
        self.profile = profile
        self.tools = tools
        discovery = issuer.discovery
        keys = issuer.keys
        secrets = SecretReader(of: profile, tools)
        certificateKey = profile.client.certificate.map { SecretReader(key: $0.key, tools) }
        assertions = GrantAssertions(profile, tools)
    }

    var heldSecrets: [SecretID] {
        get async {
            let registered: [SecretID] =
                if lacksClient, let address { await tools.registrar.secrets(at: address) } else { [] }
            return registered
                + [await secrets.held, await certificateKey?.held, await assertions?.held].compactMap(\.self)
        }
    }

    /// The issuer of the server's ID tokens, or `nil` if the configuration names none and any is accepted.
    var issuer: String? { profile.kind.identity.issuer }

    /// The address of the metadata.
    ///
    /// Clients that the server registers belong to this address, because the metadata may name any issuer.
    var address: String? {
        if case .oidc(let issuer, let metadata) = profile.kind { metadata ?? issuer } else { issuer }
    }

    /// Whether a requested ID token must arrive and be valid, as in OpenID Connect.
    ///
    /// OAuth 2.0 alone does not promise one, so an invalid ID token is left out.
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
        do throws(TokenEndpoint.TokenRequestError) {
            let granted = try await StandardRefresh(server: server, request: request).run()
            await recordSecret(isAccepted: true)
            return .granted(granted)
        } catch {
            var failure = error.failure
            if failure.kind == .grantDead || failure.kind.consequences.blamesClient {
                await assertions?.forget()
            }
            if failure.code == "invalid_client" {
                await recordSecret(isAccepted: false)
                await secrets.forget()
                if let document = server.profile.client.introduction?.document,
                    document.bytewise == server.profile.client.id.bytewise
                {
                    // There is no registration that the server could have deleted: it reads the document each
                    // time.
                    failure.remedy = .retry("once the server can read \(document)")
                } else if lacksClient {
                    failure = .clientForgotten(failure)
                }
            }
            let failed = RefreshRequestError(failure: failure, leftover: error.leftover)
            return tools.outcome(of: failed, renewing: request.renewal)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        do throws(LoginError) {
            let login = try await login(request, conversation)
            do throws(LoginError) {
                let grant = try await login.run(request.flow ?? profile.flow).as(login.registeredClient)
                await recordSecret(isAccepted: true)
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
                await recordSecret(isAccepted: false)
                await secrets.forget()
            }
            if case .failed(let failure) = error, failure.kind == .misconfigured { await discovery.doubt() }
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

    /// Records whether the server accepted a secret that the user gave.
    private func recordSecret(isAccepted: Bool) async {
        guard let purpose = profile.givenSecret, let secret = await secrets.held else { return }
        guard isAccepted else { return await tools.registrar.rejected(secret) }
        await tools.registrar.accepted(secret, for: purpose, of: profile.client.id)
    }

    /// Returns the client's proof for requests to the endpoints of `metadata`, or of a server whose metadata
    /// are not read.
    func authentication(_ metadata: ServerMetadata?) async throws(RefreshFailure) -> ClientAuthentication {
        ClientAuthentication(
            clientID: profile.client.id,
            proof: try await proof(metadata),
            certificate: try await certificate(),
            learned: profile.client.proof.isOpen(listed: metadata?.authenticationMethods) ? learned : nil
        )
    }

    /// Returns `metadata` with the endpoints at which this client authenticates (RFC 8705 §5).
    func endpoints(of metadata: ServerMetadata) -> ServerMetadata {
        profile.client.showsCertificate ? metadata.forCertificates : metadata
    }

    /// Returns the secret shared with the server, with which the server may sign ID tokens.
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
        if profile.client.proof == .basicID { return .basicID }
        guard let secret = try await secrets.read() else { return .none }
        switch profile.client.proof {
        case .none, .basicID, .externalAssertion: return .none
        case .certificate(let path, _):
            return .certificate(try await checked(ClientCertificate(path: path, key: secrets)))
        case .secret(_, let method):
            let known = method == .automatic ? learned.placement ?? method : method
            return ClientAuthentication.proof(secret, known, listed: metadata?.authenticationMethods)
        case .secretAssertion(_, let audience):
            return .assertion(try assertions(.sharedSecret(secret), audience, metadata))
        case .keyAssertion(let key, let audience):
            return .assertion(try assertions(.key(secret, key), audience, metadata))
        }
    }

    /// Returns the certificate that is shown besides a secret.
    private func certificate() async throws(RefreshFailure) -> ClientCertificate? {
        guard let certificate = profile.client.certificate, let certificateKey else { return nil }
        return try await checked(ClientCertificate(path: certificate.path, key: certificateKey))
    }

    /// Reads `certificate` now, so that its errors are reported before anything is sent.
    private func checked(_ certificate: ClientCertificate) async throws(RefreshFailure) -> ClientCertificate {
        _ = try await certificate.identity(tools)
        return certificate
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

    /// Creates a key, or returns `nil` if the tokens are not bound to one.
    ///
    /// - Throws: `misconfigured` if the server does not support the algorithm of the key.
    func proofKey(_ metadata: ServerMetadata?) throws(RefreshFailure) -> SecretID? {
        guard profile.bindsTokens else { return nil }
        if let algorithms = metadata?.proofAlgorithms, !algorithms.contains(ProofKey.algorithm.bytewise) {
            throw RefreshFailure(
                kind: .misconfigured,
                message: "the server does not support DPoP with \(ProofKey.algorithm)",
                remedy: .set("dpop = false")
            )
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
    /// Returns the grant with the client that was found for the login.
    fileprivate func `as`(_ found: DiscoveredServer?) -> LoginGrant {
        guard let found else { return self }
        var grant = self
        grant.server = found
        return grant
    }
}
