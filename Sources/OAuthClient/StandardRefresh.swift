// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// One renewal at an OAuth 2.0 token endpoint (RFC 6749 §6, §4.4).
struct StandardRefresh {
    var server: StandardServer
    var request: RefreshRequest

    func run() async throws(RefreshFailure) -> GrantedTokens {
        let metadata = try await metadata()
        let url: EndpointURL
        if let pinned = try pinnedURL() { url = pinned } else { url = try known(metadata).token }
        do throws(TokenEndpoint.Refusal) {
            return try await renew(at: url, metadata)
        } catch {
            guard error.endpointIsMissing, let moved = await movedURL(from: url) else { throw error.failure }
            do throws(TokenEndpoint.Refusal) {
                return try await renew(at: moved, metadata)
            } catch {
                throw error.failure
            }
        }
    }

    /// The metadata, or `nil` where the refresh can do without: public client, endpoint on the issuer's host.
    private func metadata() async throws(RefreshFailure) -> ServerMetadata? {
        if case .none = server.profile.clientSecret, let url = try pinnedURL(), let issuer = server.issuer,
            (try? EndpointURL(issuer))?.host == url.host
        {
            return nil
        }
        do throws(RefreshFailure) {
            return try await server.discovery.metadata()
        } catch {
            // A document that is broken today says nothing about the refresh token.
            guard error.kind == .misconfigured, server.issuer != nil else { throw error }
            throw RefreshFailure(kind: .busy, message: error.message, retryAfter: error.retryAfter)
        }
    }

    private func known(_ metadata: ServerMetadata?) throws(RefreshFailure) -> ServerMetadata {
        guard let metadata else {
            throw RefreshFailure(kind: .misconfigured, message: "no token endpoint known")
        }
        return metadata
    }

    /// Where the refresh token came from.
    ///
    /// - Throws: `misconfigured` when somebody has since written down another server.
    private func pinnedURL() throws(RefreshFailure) -> EndpointURL? {
        guard let pinned = request.tokenEndpoint, let url = try? EndpointURL(pinned) else { return nil }
        if case .oauth2(let endpoints) = server.profile.kind, endpoints.token != pinned {
            let message = "token_endpoint is not the one this session logged in at (\(pinned)): log in again"
            throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message))
        }
        return url
    }

    /// A new path on the same host, after the old one turned out to be gone.
    private func movedURL(from url: EndpointURL) async -> EndpointURL? {
        do throws(RefreshFailure) {
            let fresh = try await server.discovery.refetched().token
            return fresh.origin == url.origin && fresh != url ? fresh : nil
        } catch {
            return nil
        }
    }

    private func renew(
        at url: EndpointURL,
        _ metadata: ServerMetadata?
    ) async throws(TokenEndpoint.Refusal) -> GrantedTokens {
        let endpoint: TokenEndpoint
        do throws(RefreshFailure) {
            endpoint = TokenEndpoint(
                url: url,
                authentication: try await server.authentication(listed: metadata?.authenticationMethods),
                trust: server.profile.trust,
                publicAddressOnly: metadata?.publicAddressOnly(url) ?? false,
                tools: server.tools,
                prover: request.proofKey.map { ProofMaker(key: $0, vault: server.tools.vault) }
            )
        } catch {
            throw TokenEndpoint.Refusal(failure: error)
        }
        let (answer, requestedAt) = try await exchange(at: endpoint)
        do throws(RefreshFailure) {
            let believed = try await validated(answer)
            return try endpoint.seal(believed, requestedAt: requestedAt, sent: refreshToken)
        } catch {
            throw TokenEndpoint.Refusal(failure: error)
        }
    }

    private func exchange(
        at endpoint: TokenEndpoint
    ) async throws(TokenEndpoint.Refusal) -> (TokenAnswer, Instant) {
        let scope = requestedScope
        do throws(TokenEndpoint.Refusal) {
            return try await endpoint.attempt(try form(scope: scope))
        } catch {
            // Some servers refuse a scope they granted themselves; without one they give what they granted.
            guard request.variant == .primary, !scope.isEmpty, error.failure.code == "invalid_scope" else {
                throw error
            }
            return try await endpoint.attempt(try form(scope: []))
        }
    }

    /// Nothing for the login's own token at a refresh: the server then gives what was granted.
    private var requestedScope: [String] {
        guard request.variant.scopes.isEmpty else { return request.variant.scopes }
        return request.renewal == .clientCredentials ? server.profile.scopes : []
    }

    private var refreshToken: SecretID? {
        guard case .refreshToken(let secret) = request.renewal else { return nil }
        return secret
    }

    private func form(scope: [String]) throws(TokenEndpoint.Refusal) -> FormBody {
        let form = FormBody()
        switch request.renewal {
        case .refreshToken(let secret):
            form.add("grant_type", "refresh_token")
            do {
                try unsafe server.tools.vault.open(secret) { unsafe form.add("refresh_token", secret: $0) }
            } catch {
                throw TokenEndpoint.Refusal(failure: .locked)
            }
        case .clientCredentials:
            form.add("grant_type", "client_credentials")
        case .impossible:
            let message = "the server gave no refresh token: log in again"
            throw TokenEndpoint.Refusal(failure: RefreshFailure(kind: .interactionRequired, message: message))
        }
        if !scope.isEmpty { form.add("scope", scope.joined(separator: " ")) }
        if let audience = request.variant.audience {
            form.add(audience.isAbsoluteURI ? "resource" : "audience", audience)
        } else {
            server.profile.addAudience(to: form)
        }
        return form
    }

    /// `answer` with an ID token only if it is believed.
    private func validated(_ answer: TokenAnswer) async throws(RefreshFailure) -> TokenAnswer {
        var answer = answer
        guard let idToken = answer.idToken else { return answer }
        answer.idToken = nil
        guard let issuer = server.issuer, refreshToken != nil else { return answer }
        var original: String?
        if let secret = request.idToken { original = try server.tools.vault.text(of: secret) }
        // Without the metadata only the signature stays unchecked; who it is about is compared all the same.
        let metadata: ServerMetadata?
        do throws(RefreshFailure) {
            metadata = try await server.discovery.metadata()
        } catch {
            metadata = nil
        }
        guard let metadata else {
            guard let original else { return answer }
            try IDTokenRules.compare(idToken, with: original)
            return answer
        }
        let verifier = IDTokenVerifier(
            profile: server.profile,
            issuer: issuer,
            metadata: metadata,
            keys: server.keys,
            clientSecret: try await server.secrets.read(),
            tools: server.tools
        )
        let isKept = try await verifier.verifyRefresh(
            idToken,
            accessToken: answer.accessToken,
            original: original
        )
        if isKept { answer.idToken = idToken }
        return answer
    }
}

extension IDTokenRules {
    /// The comparison alone (OIDC Core §12.2).
    fileprivate static func compare(_ token: String, with original: String) throws(RefreshFailure) {
        guard let token = JWTParts(token), let original = JWTParts(original) else { return }
        do throws(Problem) {
            try checkSame(token, as: original)
        } catch {
            throw RefreshFailure(kind: .identityChanged, message: error.message)
        }
    }
}

extension ServerProfile {
    /// Adds the configured audience and resources to a token request.
    func addAudience(to form: FormBody) {
        if let audience { form.add("audience", audience) }
        for resource in resources { form.add("resource", resource) }
    }
}
