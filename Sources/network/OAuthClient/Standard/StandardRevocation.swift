// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// A request to a server to revoke a session's tokens (RFC 7009) and to end the user's session there.
struct StandardRevocation {
    var server: StandardServer
    var tokens: RevocationRequest

    private var tools: ServerDependencies { server.tools }

    /// The timeout of the request that decides the outcome.
    ///
    /// The user waits for it.
    private static let timeout: Duration = .seconds(6)
    /// The timeout of requests that do not change the outcome.
    private static let shortTimeout: Duration = .seconds(2)

    func run() async -> RevocationOutcome {
        guard tokens.refreshToken != nil || tokens.accessToken != nil else { return .nothing }
        do throws(RefreshFailure) {
            let metadata = server.endpoints(of: try await server.discovery.metadataForKnownLogin())
            try checkPin(metadata)
            let authentication = try await server.authentication(metadata)
            if let format = server.profile.dialect.revocation {
                return try await revoke(by: format, authentication)
            }
            return await tell(metadata, authentication)
        } catch {
            return RevocationOutcome(error)
        }
    }

    /// Sends the requests.
    ///
    /// If the server does not respond to the first one, the others are not sent.
    private func tell(
        _ metadata: ServerMetadata,
        _ authentication: ClientAuthentication
    ) async -> RevocationOutcome {
        guard let url = metadata.revocation else {
            let wasEnded = await endSession(metadata)
            let asked = wasEnded ? ", but ended the session there" : ""
            let reason = metadata.reason(forLacking: "revocation_endpoint")
            return .unsupported(
                "\(metadata.token.hostAndPort) has no revocation_endpoint\(reason)\(asked): its tokens remain "
                    + "valid until they expire"
            )
        }
        let outcome = await revokeTokens(at: url, metadata, authentication)
        if case .failed = outcome { return outcome }
        _ = await endSession(metadata)
        return outcome
    }

    /// Checks that the tokens were issued by the configured server.
    ///
    /// Tokens must not be sent to another issuer.
    private func checkPin(_ metadata: ServerMetadata) throws(RefreshFailure) {
        guard let pinned = tokens.tokenEndpoint.flatMap({ try? EndpointURL($0) }) else { return }
        let origins = [metadata.token, try server.renewalURL()].compactMap { $0?.origin }
        guard origins.contains(pinned.origin) else {
            let message = "the tokens are from \(pinned.hostAndPort), which is no longer configured"
            throw RefreshFailure(kind: .misconfigured, message: message)
        }
    }

    /// Revokes a token in the server's own form.
    private func revoke(
        by format: RevocationFormat,
        _ authentication: ClientAuthentication
    ) async throws(RefreshFailure) -> RevocationOutcome {
        // A token that is prolonged is both.
        let isBoth = server.profile.dialect.prolonging != nil
        let wanted = format.token == .accessToken ? tokens.accessToken : tokens.refreshToken
        guard let token = wanted ?? (isBoth ? tokens.refreshToken ?? tokens.accessToken : nil) else {
            let kind = format.token == .accessToken ? "access token" : "refresh token"
            return .unsupported("the server revokes only by the \(kind), which the session does not have")
        }
        let client = server.profile.client.id
        let sharedSecret = authentication.sendsSecret ? authentication.sharedSecret : nil
        guard sharedSecret != nil || !format.requiresSecret else {
            return .unsupported(
                "the server revokes only for a client with a secret, which the session does not have"
            )
        }
        let text = try tools.memory.text(of: token)
        let address = format.address(of: text, client: client)
        var request = OutgoingRequest(
            url: try EndpointURL(address, of: "revocation"),
            trust: server.profile.trust
        )
        request.deletes = format.method == .delete
        request.limit = StandardRevocation.timeout
        request.headers = [("accept", "application/json")]
        var secret = ""
        if let sharedSecret, format.requiresSecret { secret = try tools.memory.text(of: sharedSecret) }
        if format.placement == .bearer {
            request.headers.append(("authorization", "Bearer " + text))
        } else if let value = format.authorization {
            let filled = format.filled(value, client: client, secret: secret)
            request.headers.append(("authorization", filled))
        } else if format.usesBasic, authentication.sendsSecret {
            request.headers.append(("authorization", try authentication.basicCredentials(tools.memory)))
        }
        if format.hasParameters {
            let form = FormBody([(format.name, text)])
            form.add(format.parameters.mapValues { format.filled($0, client: client, secret: secret) })
            request.form = form
            request.format.placement = format.placement == .json ? .json : .form
        } else {
            // An empty body has no media type.
            request.format.placement = .query
            if !request.deletes { request.form = FormBody() }
        }
        let reply = try await tools.send(request)
        // The server knows the client, and no such token: it is not valid any more.
        if reply.status == 404, authentication.sendsSecret,
            request.deletes && format.placement != .bearer || format.placement == .path
        {
            return .revoked
        }
        let responses = server.profile.dialect.responses
        if let object = reply.jsonObject, responses.isUnsuccessful(object),
            let error = responses.error(
                in: object,
                isSuccess: (200..<300).contains(reply.status)
            ), !RevocationFormat.codesOfInvalidTokens.contains(error.code.bytewise)
        {
            var answer = reply.refused(object: object, at: tools.timekeeper.wallTime)
            answer.error = error
            throw FailureClassification.classify(answer, from: request.url.hostAndPort)
        }
        return try judge(reply, request.url)
            ? .revoked : .unsupported("\(request.url.hostAndPort) did not revoke the token")
    }

    /// Revokes the refresh token first: a server then revokes the access tokens of the grant too (RFC 7009
    /// §2.1).
    private func revokeTokens(
        at url: EndpointURL,
        _ metadata: ServerMetadata,
        _ authentication: ClientAuthentication
    ) async -> RevocationOutcome {
        let list = [("refresh_token", tokens.refreshToken), ("access_token", tokens.accessToken)]
        var limit = StandardRevocation.timeout
        var outcome = RevocationOutcome.revoked
        for case (let hint, let token?) in list {
            // The access token expires soon, so the refresh token alone decides the outcome.
            let isDecisive = hint == "refresh_token" || tokens.refreshToken == nil
            do throws(RefreshFailure) {
                let isRevoked = try await revoke(
                    token,
                    hint,
                    at: url,
                    metadata,
                    authentication,
                    within: limit
                )
                if !isRevoked, isDecisive {
                    outcome = .unsupported(
                        "\(url.hostAndPort) cannot revoke this type of token: it remains valid until it expires"
                    )
                }
            } catch {
                if isDecisive { return RevocationOutcome(error) }
            }
            limit = StandardRevocation.shortTimeout
        }
        return outcome
    }

    /// Revokes one token.
    ///
    /// - Returns: `false` if the server does not revoke tokens of this type (RFC 7009 §2.2.1).
    private func revoke(
        _ token: SecretID,
        _ hint: String,
        at url: EndpointURL,
        _ metadata: ServerMetadata,
        _ authentication: ClientAuthentication,
        within limit: Duration
    ) async throws(RefreshFailure) -> Bool {
        let reply = try await post(token, hint, to: url, metadata, authentication, nil, limit)
        guard authentication.isPublic, let addition = addition(after: reply) else {
            return try judge(reply, url)
        }
        let again = try await post(token, hint, to: url, metadata, authentication, addition, limit)
        return try judge(again, url)
    }

    /// The parameter that a public client adds if the server rejects its first request.
    private enum FallbackAuthentication {
        /// An access token of the same user.
        case bearer(SecretID)
        /// An empty client secret, which means the same as none (RFC 6749 §2.3.1).
        case emptySecret
    }

    private func addition(after reply: ServerResponse) -> FallbackAuthentication? {
        if reply.status == 401 { return tokens.accessToken.map { .bearer($0) } }
        let error = reply.jsonObject.flatMap { ReportedOAuthError($0) }
        return reply.status == 400 && error?.code.bytewise == "invalid_request" ? .emptySecret : nil
    }

    private func post(
        _ token: SecretID,
        _ hint: String,
        to url: EndpointURL,
        _ metadata: ServerMetadata,
        _ authentication: ClientAuthentication,
        _ addition: FallbackAuthentication?,
        _ limit: Duration
    ) async throws(RefreshFailure) -> ServerResponse {
        let form = FormBody()
        try form.add("token", token, from: tools.memory)
        form.add("token_type_hint", hint)
        if case .emptySecret = addition { form.add("client_secret", "") }
        var request = OutgoingRequest(url: url, form: form, trust: server.profile.trust)
        request.publicAddressOnly = metadata.publicAddressOnly(url)
        request.format.names = server.profile.dialect.requests.names
        request.format.headers = server.profile.dialect.requests.headers
        request.limit = limit
        if case .bearer(let bearer) = addition {
            request.headers.append(("authorization", "Bearer " + (try tools.memory.text(of: bearer))))
        }
        return try await authentication.send(request, tools, audiences: audiences(at: url, metadata))
    }

    /// Returns the audiences that a signed assertion may name at `url`.
    ///
    /// Servers differ in the audience, and many accept only their issuer. The token endpoint is included only
    /// at its own origin: at another origin, the assertion could be used against it.
    private func audiences(at url: EndpointURL, _ metadata: ServerMetadata) -> [String] {
        let issuer = server.issuer ?? metadata.issuer
        let token = url.origin == metadata.token.origin ? metadata.token.description : nil
        return [issuer, token, url.description].compactMap(\.self)
    }

    /// Returns whether the token is revoked.
    ///
    /// A 200 also means that the server did not know the token (RFC 7009 §2.2).
    private func judge(_ reply: ServerResponse, _ url: EndpointURL) throws(RefreshFailure) -> Bool {
        guard !(200..<300).contains(reply.status) else { return true }
        let answer = reply.refused(object: reply.jsonObject, at: tools.timekeeper.wallTime)
        switch answer.error?.code.bytewise {
        case "invalid_token", "invalid_grant": return true
        case "unsupported_token_type": return false
        default: throw FailureClassification.classify(answer, from: url.hostAndPort)
        }
    }

    /// Ends the user's session at the server, if possible (OIDC RP-Initiated Logout §2).
    ///
    /// The request is a POST, so that the ID token does not appear in URLs.
    ///
    /// - Returns: Whether the server reports success.
    private func endSession(_ metadata: ServerMetadata) async -> Bool {
        guard let url = metadata.endSession, let idToken = tokens.idToken else { return false }
        let form = FormBody([("client_id", server.profile.client.id)])
        do {
            try unsafe tools.memory.open(idToken) { unsafe form.add("id_token_hint", secret: $0) }
        } catch {
            return false
        }
        var request = OutgoingRequest(url: url, form: form, trust: server.profile.trust)
        request.publicAddressOnly = metadata.publicAddressOnly(url)
        request.limit = StandardRevocation.shortTimeout
        guard let reply = try? await tools.send(request) else { return false }
        return (200..<300).contains(reply.status)
    }
}

extension RevocationOutcome {
    /// Converts `failure`, depending on whether a later retry may succeed.
    init(_ failure: RefreshFailure) {
        self = failure.kind.consequences.prospect == .soon ? .failed(failure) : .refused(failure)
    }
}
