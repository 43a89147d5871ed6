// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// One refresh at an OAuth 2.0 token endpoint (RFC 6749 §6, §4.4; RFC 8693; RFC 7523).
struct StandardRefresh {
    var server: StandardServer
    var request: RefreshRequest

    func run() async throws(TokenEndpoint.TokenRequestError) -> GrantedTokens {
        let (url, metadata) = try await place()
        guard request.renewal == .withoutLogin else { return try await renewWherever(url, metadata) }
        var anew = self
        let subject = try await subjectToken()
        defer { if let subject { server.tools.memory.erase(subject) } }
        if let subject { anew.request.sources.subject = subject }
        let key = try request.proofKey == nil ? proofKey(metadata) : nil
        if let key { anew.request.proofKey = key }
        do throws(TokenEndpoint.TokenRequestError) {
            return try await anew.renewWherever(url, metadata)
        } catch {
            if let key { server.tools.memory.erase(key) }
            throw error
        }
    }

    /// Refreshes at `url`, or at the new URL if the server has moved its endpoint.
    private func renewWherever(
        _ url: EndpointURL,
        _ metadata: ServerMetadata?
    ) async throws(TokenEndpoint.TokenRequestError) -> GrantedTokens {
        do throws(TokenEndpoint.TokenRequestError) {
            return try await renew(at: url, metadata)
        } catch {
            // An endpoint for refreshes alone is configured, and in no metadata.
            guard error.endpointIsMissing, server.profile.dialect.renewalURL == nil || refreshToken == nil,
                let moved = await movedURL(from: url)
            else { throw error }
            return try await renew(at: moved, metadata)
        }
    }

    /// Returns a token to exchange that is read only for this request, or `nil` if there is none.
    private func subjectToken() async throws(TokenEndpoint.TokenRequestError) -> SecretID? {
        do throws(RefreshFailure) {
            return try await server.profile.grant?.subjectToken(server.tools)
        } catch {
            throw TokenEndpoint.TokenRequestError(failure: error)
        }
    }

    /// Creates a key for tokens that are to be bound to one but were not bound by a login.
    private func proofKey(_ metadata: ServerMetadata?) throws(TokenEndpoint.TokenRequestError) -> SecretID? {
        do throws(RefreshFailure) {
            return try server.proofKey(metadata)
        } catch {
            throw TokenEndpoint.TokenRequestError(failure: error)
        }
    }

    private func place() async throws(TokenEndpoint.TokenRequestError) -> (EndpointURL, ServerMetadata?) {
        do throws(RefreshFailure) {
            let metadata = try await metadata()
            if let pinned = try pinnedURL() {
                if let metadata { try checkProof(at: pinned, metadata) }
                return (pinned, metadata)
            }
            if request.renewal != .withoutLogin, let url = try server.renewalURL() { return (url, metadata) }
            return (try known(metadata).token, metadata)
        } catch {
            throw TokenEndpoint.TokenRequestError(failure: error)
        }
    }

    /// Returns the metadata, or `nil` if the refresh does not need them.
    ///
    /// A public client does not need them if its token endpoint is on the issuer's host.
    private func metadata() async throws(RefreshFailure) -> ServerMetadata? {
        if server.profile.client.proof == .none, let url = try pinnedURL(), let address = server.address,
            (try? EndpointURL(address))?.host == url.host
        {
            return nil
        }
        return server.endpoints(of: try await server.discovery.metadataForKnownLogin())
    }

    /// Checks that the client can send its proof at `url`.
    ///
    /// A server may invalidate a refresh token that is sent without the required proof. A client certificate
    /// is a proof only at the server's alias for certificates.
    private func checkProof(at url: EndpointURL, _ metadata: ServerMetadata) throws(RefreshFailure) {
        guard url != metadata.token, url == metadata.tokenWithoutCertificate else { return }
        throw RefreshFailure(
            kind: .misconfigured,
            message: "this session logged in without a certificate",
            needsLogin: true
        )
    }

    private func known(_ metadata: ServerMetadata?) throws(RefreshFailure) -> ServerMetadata {
        guard let metadata else {
            throw RefreshFailure(kind: .misconfigured, message: "no token endpoint known")
        }
        return metadata
    }

    /// Returns the token endpoint that issued the refresh token, or `nil` if it is unknown.
    ///
    /// - Throws: `misconfigured` if the configuration now names another endpoint.
    private func pinnedURL() throws(RefreshFailure) -> EndpointURL? {
        guard let pinned = request.tokenEndpoint, let url = try? EndpointURL(pinned) else { return nil }
        if request.renewal != .withoutLogin, let renewal = try server.renewalURL() {
            // A refresh token may go to another path of its own server.
            guard renewal.origin == url.origin else { throw otherEndpoint("refresh_endpoint", than: pinned) }
            return renewal
        }
        if let written = server.profile.writtenTokenEndpoint, written != pinned {
            // No refresh token is bound to the old endpoint.
            guard request.renewal != .withoutLogin else { return nil }
            throw otherEndpoint("token_endpoint", than: pinned)
        }
        return url
    }

    private func otherEndpoint(_ key: String, than pinned: String) -> RefreshFailure {
        let message = "\(key) differs from the one used at login (\(pinned))"
        return RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message), needsLogin: true)
    }

    /// Returns the endpoint's new path on the same host, after the old path turned out to be missing.
    private func movedURL(from url: EndpointURL) async -> EndpointURL? {
        do throws(RefreshFailure) {
            let fresh = server.endpoints(of: try await server.discovery.refetched()).token
            return fresh.origin == url.origin && fresh != url ? fresh : nil
        } catch {
            return nil
        }
    }

    private func renew(
        at url: EndpointURL,
        _ metadata: ServerMetadata?
    ) async throws(TokenEndpoint.TokenRequestError) -> GrantedTokens {
        var endpoint: TokenEndpoint
        do throws(RefreshFailure) {
            endpoint = TokenEndpoint(
                url: url,
                authentication: try await server.authentication(metadata),
                trust: server.profile.trust,
                publicAddressOnly: metadata?.publicAddressOnly(url) ?? request.server?.isPublic ?? false,
                tools: server.tools,
                prover: request.proofKey.map { ProofMaker(key: $0, memory: server.tools.memory) },
                isRefresh: true,
                isExchange: grant?.isExchange ?? false,
                dialect: server.profile.dialect,
                assertions: assertions
            )
            if refreshToken != nil { endpoint = try server.renewing(at: endpoint) }
        } catch {
            throw TokenEndpoint.TokenRequestError(failure: error)
        }
        let (answer, requestedAt) = try await exchange(at: endpoint)
        do throws(RefreshFailure) {
            var (believed, remarks) = try await validated(answer)
            if let remark = server.profile.audienceRemark(on: answer, asked: request.variant.audience) {
                remarks.append(remark)
            }
            // Tokens obtained without a refresh token need none, and it would outlive the tokens they were
            // made from.
            if request.renewal == .withoutLogin { believed.refreshToken = nil }
            var granted = try server.tools.seal(
                believed,
                requestedAt: requestedAt,
                sent: refreshToken,
                remarks: remarks
            )
            if request.renewal == .withoutLogin {
                granted.origin = IssuanceContext(tokenEndpoint: url.description, proofKey: request.proofKey)
            }
            return granted
        } catch {
            throw TokenEndpoint.TokenRequestError(failure: error)
        }
    }

    private func exchange(
        at endpoint: TokenEndpoint
    ) async throws(TokenEndpoint.TokenRequestError) -> (TokenResponse, Instant) {
        let scope = requestedScope
        do throws(TokenEndpoint.TokenRequestError) {
            var reply = try await endpoint.attempt(try await form(scope: scope))
            // A response without a scope grants the requested one (RFC 6749 §5.1).
            if request.renewal == .withoutLogin { reply.answer.scope = reply.answer.scope ?? scope }
            return reply
        } catch {
            // Some servers reject a scope that they granted themselves. Without a scope they grant the same
            // again. A token made from another token must not get more than the requested scope, so it is not
            // retried.
            guard request.variant == .primary, !scope.isEmpty, grant == nil,
                error.failure.code == "invalid_scope"
            else {
                throw error
            }
            return try await endpoint.attempt(try await form(scope: []))
        }
    }

    /// The scope to request, or none to refresh the login's own token: the server then repeats the granted
    /// scope.
    ///
    /// A narrower scope keeps `offline_access` if it was granted. Without it, some servers invalidate the
    /// refresh token and issue no new one (OIDC Core §11).
    private var requestedScope: [String] {
        let narrowed = request.variant.scopes
        guard narrowed.isEmpty else {
            let offline = "offline_access"
            guard refreshToken != nil, !narrowed.contains(offline), request.grantedScope.contains(offline)
            else {
                return narrowed
            }
            return narrowed + [offline]
        }
        return request.renewal == .withoutLogin ? server.profile.scopes : []
    }

    private var refreshToken: SecretID? {
        guard let secret = request.renewal.refreshToken else { return nil }
        return secret
    }

    private func form(scope: [String]) async throws(TokenEndpoint.TokenRequestError) -> FormBody {
        var form = FormBody()
        switch request.renewal {
        case .refreshToken(let secret):
            do throws(RefreshFailure) {
                form = try await server.renewalForm(with: secret)
                guard server.profile.dialect.prolonging == nil else {
                    guard request.variant == .primary else {
                        let message = "a token that is prolonged has no other scopes or audiences"
                        throw RefreshFailure(kind: .variantRefused, message: message)
                    }
                    return form
                }
            } catch {
                throw TokenEndpoint.TokenRequestError(failure: error)
            }
        case .withoutLogin: try addGrant(to: form)
        case .impossible, .byKeepers:
            let message = "no refresh token is stored"
            throw TokenEndpoint.TokenRequestError(
                failure: RefreshFailure(kind: .interactionRequired, message: message)
            )
        }
        if !scope.isEmpty, grant?.saysScope != true {
            form.add(
                "scope",
                scope.joined(separator: server.profile.dialect.responses.scopeSeparator.rawValue)
            )
        }
        if let audience = request.variant.audience {
            guard grant?.saysScope != true else {
                let message = "service accounts do not support audiences"
                throw TokenEndpoint.TokenRequestError(
                    failure: RefreshFailure(kind: .variantRefused, message: message)
                )
            }
            form.add(audience.isAbsoluteURI ? "resource" : "audience", audience)
        } else {
            server.profile.addAudience(to: form)
        }
        return form
    }

    /// The grant that replaces a login, or `nil` with a refresh token or the client's own credentials.
    private var grant: TokenGrant? { request.renewal == .withoutLogin ? server.profile.grant : nil }

    /// The assertions sent instead of a login, or `nil` if none are needed.
    private var assertions: GrantAssertions? {
        guard request.renewal == .withoutLogin, var assertions = server.assertions else { return nil }
        assertions.scope = requestedScope
        return assertions
    }

    private func addGrant(to form: FormBody) throws(TokenEndpoint.TokenRequestError) {
        guard let grant else { return server.profile.addClientGrant(to: form) }
        do throws(RefreshFailure) {
            try grant.add(request.sources, to: form, server.tools.memory)
        } catch {
            throw TokenEndpoint.TokenRequestError(failure: error)
        }
    }

    /// Returns `answer`, with its ID token only if that is valid, and a warning if it is not.
    ///
    /// - Throws: `identityChanged` if the ID token belongs to another account. No other error of an ID token
    ///   ends a session.
    private func validated(
        _ answer: TokenResponse
    ) async throws(RefreshFailure) -> (TokenResponse, [GrantWarning]) {
        var answer = answer
        guard refreshToken != nil, let idToken = answer.idToken else {
            answer.idToken = nil
            return (answer, answer.idTokenProblem.map { [.idTokenDropped($0)] } ?? [])
        }
        let original = try request.idToken.map { secret throws(RefreshFailure) in
            try server.tools.memory.text(of: secret)
        }
        try checkIdentity(idToken, original)
        if let objection = await objection(to: idToken, of: answer, original) {
            answer.idToken = nil
            return (answer, [.idTokenDropped(objection)])
        }
        return (answer, [])
    }

    private func checkIdentity(_ idToken: String, _ original: String?) throws(RefreshFailure) {
        guard let token = JWTParts(idToken), let original = original.flatMap({ JWTParts($0) }) else { return }
        do throws(IDTokenRules.Problem) {
            try IDTokenRules.checkIdentity(token, as: original)
        } catch {
            throw RefreshFailure(kind: .identityChanged, message: error.message)
        }
    }

    private func objection(to idToken: String, of answer: TokenResponse, _ original: String?) async -> String?
    {
        do throws(RefreshFailure) {
            let verifier = IDTokenVerifier(
                profile: server.profile,
                metadata: try await server.discovery.metadata(),
                keys: server.keys,
                clientSecret: try await server.sharedSecret(),
                tools: server.tools
            )
            return await verifier.objection(
                to: idToken,
                accessToken: answer.accessToken,
                original: original
            )
        } catch {
            return error.message
        }
    }
}

extension GrantWarning {
    /// Returns the warning that the ID token of a response was left out.
    static func idTokenDropped(_ why: String) -> GrantWarning {
        GrantWarning(.idTokenDropped, "the ID token of the latest response was ignored: \(why)")
    }

    /// Returns the warning that the ID token of a response was left out because of `failure`.
    static func idTokenDropped(_ failure: RefreshFailure) -> GrantWarning {
        idTokenDropped(failure.remedy.map { "\(failure.message) \($0.parenthesized)" } ?? failure.message)
    }
}

extension ServerProfile {
    /// Adds the grant of the client's own credentials (RFC 6749 §4.4.2).
    func addClientGrant(to form: FormBody) {
        form.add("grant_type", dialect.clientGrantType ?? "client_credentials")
        form.add(dialect.tokenParameters)
    }

    /// Adds the configured audience and resources to a token request.
    func addAudience(to form: FormBody) {
        if let audience { form.add("audience", audience) }
        for resource in resources { form.add("resource", resource) }
    }
}
