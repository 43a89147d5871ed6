// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// One login at a standard server, with the parts that all flows share.
struct StandardLogin {
    var server: StandardServer
    var metadata: ServerMetadata
    var authentication: ClientAuthentication
    var request: LoginRequest
    var conversation: any LoginPrompting
    /// The key that the tokens are to be bound to.
    var proofKey: SecretID?

    /// The issuer and client found for this login, or `nil` if the configuration names the client.
    var registeredClient: DiscoveredServer?

    var profile: ServerProfile { server.profile }
    var tools: ServerDependencies { server.tools }
    var dialogue: CredentialPrompts {
        CredentialPrompts(request: request, conversation: conversation, memory: tools.memory)
    }

    func run(_ flow: LoginFlow) async throws(LoginError) -> LoginGrant {
        var grant = try await grant(by: flow)
        // A response without a scope grants the requested one (RFC 6749 §5.1). An import requests none.
        if flow != .import { grant.tokens.scope = grant.tokens.scope ?? profile.scopes }
        return grant
    }

    private func grant(by flow: LoginFlow) async throws(LoginError) -> LoginGrant {
        switch flow {
        case .browser: try await logInByBrowser()
        case .device: try await logInByDevice()
        case .password: try await logInByPassword()
        case .clientCredentials: try await logInByClientCredentials()
        case .import: try await logInByImport()
        case .tokenExchange, .jwtBearer:
            throw misconfigured("the flow \(flow.rawValue) has no login")
        }
    }

    var endpoint: TokenEndpoint {
        TokenEndpoint(
            url: metadata.token,
            authentication: authentication,
            trust: profile.trust,
            publicAddressOnly: metadata.publicAddressOnly(metadata.token),
            tools: tools,
            prover: prover,
            dialect: profile.dialect
        )
    }

    var prover: ProofMaker? { proofKey.map { ProofMaker(key: $0, memory: tools.memory) } }

    var asksForOpenID: Bool { profile.scopes.contains("openid") }

    /// Sends one token request and validates its response.
    ///
    /// - Parameters:
    ///   - form: The grant, to which credentials are added.
    ///   - nonce: The nonce of the authorization request. With one, OpenID Connect requires an ID token.
    ///   - fallback: The way to refresh if the response has no refresh token.
    ///   - showsPassword: Whether the form holds the user's password.
    /// - Returns: The finished login.
    /// - Throws: The reason the login failed. The form is not sent again.
    func exchange(
        _ form: FormBody,
        nonce: String? = nil,
        fallback: RenewalMethod = .impossible,
        showsPassword: Bool = false
    ) async throws(LoginError) -> LoginGrant {
        var endpoint = endpoint
        endpoint.showsPassword = showsPassword
        do throws(RefreshFailure) {
            return try await exchange(form, at: endpoint, nonce: nonce, fallback: fallback)
        } catch {
            throw .failed(error)
        }
    }

    /// Sends `form` to `endpoint` like ``exchange(_:nonce:fallback:showsPassword:)``.
    func exchange(
        _ form: FormBody,
        at endpoint: TokenEndpoint,
        nonce: String? = nil,
        fallback: RenewalMethod
    ) async throws(RefreshFailure) -> LoginGrant {
        var (answer, requestedAt) = try await endpoint.send(form)
        // An imported token has been prolonged before.
        if !endpoint.isRenewal, let first = profile.dialect.prolonging?.first {
            let kept = answer.kept
            (answer, requestedAt) = try await server.prolonged(answer.accessToken, by: first)
            answer.kept.merge(kept) { new, _ in new }
        }
        var grant = try await judge(nonce).grant(answer, requestedAt, fallback: fallback)
        grant.proofKey = proofKey
        return grant
    }

    private func judge(_ nonce: String?) -> LoginResponseValidator {
        LoginResponseValidator(
            server: server,
            metadata: metadata,
            clientSecret: authentication.sharedSecret,
            nonce: nonce
        )
    }

    /// Adds the client's credentials to `form` and sends it to an endpoint that returns no tokens.
    func send(_ form: FormBody, to url: EndpointURL) async throws(LoginError) -> JSONObject {
        var request = OutgoingRequest(url: url, form: form, trust: profile.trust)
        request.publicAddressOnly = metadata.publicAddressOnly(url)
        request.headers = [("accept", "application/json")]
        request.format = profile.dialect.requests
        do throws(RefreshFailure) {
            let reply = try await authentication.send(request, tools)
            if [200, 201].contains(reply.status), let object = reply.jsonObject,
                ReportedOAuthError(object) == nil
            {
                return object
            }
            let answer = reply.refused(object: reply.jsonObject, at: tools.timekeeper.wallTime)
            var failure = FailureClassification.classify(answer, from: url.hostAndPort)
            if failure.code == "invalid_client" {
                failure.remedy = authentication.rejectionRemedy(tools.memory)
            }
            throw failure
        } catch {
            throw .failed(error)
        }
    }

    /// Adds a sealed value to `form`.
    func add(_ name: String, _ secret: SecretID, to form: FormBody) throws(LoginError) {
        do {
            try unsafe tools.memory.open(secret) { unsafe form.add(name, secret: $0) }
        } catch {
            throw .failed(.locked)
        }
    }

    /// Returns a failure that is resolved only by a change of the configuration, or as `remedy` says.
    func misconfigured(_ message: String, _ remedy: Remedy? = nil) -> LoginError {
        .failed(RefreshFailure(kind: .misconfigured, message: message, remedy: remedy))
    }
}
