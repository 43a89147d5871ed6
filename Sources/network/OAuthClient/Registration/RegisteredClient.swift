// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The client of a session without `client_id`, which is found at each login and stored with it.
extension StandardServer {
    /// Whether the client ID comes from the server and not from the configuration.
    var lacksClient: Bool { profile.client.introduction != nil }

    /// Returns this server with the client that a login was made with.
    ///
    /// - Throws: `clientUnknown` if that client no longer exists.
    func knownClient(_ found: DiscoveredServer?) async throws(RefreshFailure) -> StandardServer {
        guard let introduction = profile.client.introduction else { return self }
        guard let client = found?.client, let address else { throw .clientUnknown }
        if let document = introduction.document, client.bytewise == document.bytewise {
            return with(publicClient: client)
        }
        guard let registration = await tools.registrar.registration(of: client, at: address) else {
            throw .clientUnknown
        }
        return with(registration)
    }

    /// Returns this server with the client for a new login.
    ///
    /// - Throws: The reason there is no client.
    func clientForLogin(
        _ metadata: ServerMetadata,
        _ request: LoginRequest
    ) async throws(RefreshFailure) -> StandardServer {
        guard let introduction = profile.client.introduction, let address else { return self }
        guard request.flow ?? profile.flow != .import else { throw .clientOfImportUnknown }
        if let document = introduction.document, metadata.readsClientDocuments {
            return with(publicClient: document)
        }
        let purpose = ClientRegistration.LookupKey(
            issuer: address,
            redirectURI: profile.authorization.registeredURI,
            authentication: introduction.method.rawValue
        )
        let register = RegistrationRequest(
            purpose: purpose,
            introduction: introduction,
            metadata: metadata,
            profile: profile,
            tools: tools
        )
        let registration = try await tools.registrar.registration(for: purpose) {
            registration throws(RefreshFailure) in
            try await isGood(registration, metadata) ? .good : .gone
        } register: { () throws(RefreshFailure) in
            try await register.send()
        }
        return with(registration)
    }

    func unregister(_ found: DiscoveredServer?) async {
        guard lacksClient, let address, let client = found?.client,
            let registration = await tools.registrar.registration(of: client, at: address)
        else { return }
        // If the server is unreachable, it keeps a client that is no longer used.
        try? await delete(registration)
        await tools.registrar.drop(registration)
    }

    /// Deletes the client at the server, if the server supports it (RFC 7592 §2.3).
    private func delete(_ registration: ClientRegistration) async throws {
        guard let address = registration.managementURI, let token = registration.managementToken else {
            return
        }
        let url = try EndpointURL(address)
        let metadata = try await discovery.metadataForKnownLogin()
        var request = OutgoingRequest(url: url, deletes: true, trust: profile.trust)
        request.publicAddressOnly = metadata.publicAddressOnly(url)
        request.headers = [("authorization", "Bearer " + (try tools.memory.text(of: token)))]
        request.limit = .seconds(5)
        _ = try await tools.exchanged(request)
    }

    /// Forgets a client that the server no longer knows, so that the next login registers another.
    func forgetClient() async {
        guard let address,
            let registration = await tools.registrar.registration(of: profile.client.id, at: address)
        else { return }
        await tools.registrar.drop(registration)
    }

    /// Returns whether a registration can be used for a login.
    ///
    /// A server that has forgotten the client shows an error in the browser and never redirects. So the token
    /// endpoint is tested first, with a random code.
    private func isGood(
        _ registration: ClientRegistration,
        _ metadata: ServerMetadata
    ) async throws(RefreshFailure) -> Bool {
        let soon = tools.timekeeper.wallTime + .seconds(600)
        if let end = registration.secretExpiresAt, end < soon { return false }
        let server = with(registration)
        let form = FormBody([
            ("grant_type", "authorization_code"), ("code", RandomText.make()),
            ("redirect_uri", registration.redirectURIs.first ?? ""), ("code_verifier", RandomText.make()),
        ])
        for resource in profile.resources { form.add("resource", resource) }
        let endpoint = TokenEndpoint(
            url: metadata.token,
            authentication: try await server.authentication(metadata),
            trust: profile.trust,
            publicAddressOnly: metadata.publicAddressOnly(metadata.token),
            tools: tools
        )
        do throws(RefreshFailure) {
            _ = try await endpoint.send(form)
            return true
        } catch {
            return error.code != "invalid_client"
        }
    }

    private func with(publicClient client: String) -> StandardServer {
        var server = self
        server.profile.client.id = client
        return server
    }

    private func with(_ registration: ClientRegistration) -> StandardServer {
        var server = self
        server.profile.client.id = registration.clientID
        server.profile.client.proof = ClientProof(
            secret: registration.secret.map { .sealed($0) },
            registration.method == "client_secret_post" ? .post : .basic
        )
        if case .port(0) = profile.authorization.redirect {
            server.profile.authorization.redirect = .oneOf(
                registration.redirectURIs.compactMap { LoopbackRedirect($0)?.port }
            )
        }
        server.secrets = SecretReader(of: server.profile, tools)
        return server
    }
}

extension AuthorizationRequestOptions {
    /// The redirect URI of a registration, without a port if any port is accepted.
    fileprivate var registeredURI: String {
        guard case .port(0) = redirect else { return redirectURI(port: place?.port ?? 0) }
        return "http://127.0.0.1\(LoopbackRedirect.standardPath)"
    }
}

extension RefreshFailure {
    static let clientUnknown = RefreshFailure(
        kind: .clientUnknown,
        message: "the registered client is no longer stored"
    )

    /// Converts the rejection of a client that the server registered but no longer knows.
    ///
    /// The next login registers another.
    static func clientForgotten(_ refusal: RefreshFailure) -> RefreshFailure {
        var failure = refusal
        failure.kind = .clientUnknown
        let message = "the server no longer knows the registered client: \(refusal.message)"
        failure.message = ServerText.cleaned(message)
        failure.remedy = nil
        return failure
    }

    /// The failure of an import without a client.
    ///
    /// A refresh token works only for the client it was issued to.
    fileprivate static let clientOfImportUnknown = RefreshFailure(
        kind: .misconfigured,
        message: "a refresh token works only with the client it was issued to",
        remedy: .set("client_id to the client that the refresh token was issued to")
    )
}
