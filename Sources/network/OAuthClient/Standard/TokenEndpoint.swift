// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A sender of token requests, which converts each response into a token response or one classified failure.
struct TokenEndpoint: Sendable {
    var url: EndpointURL
    var authentication: ClientAuthentication
    var trust: ServerTrust
    var publicAddressOnly: Bool
    var tools: ServerDependencies
    /// The maker of proofs for the key that the tokens are bound to, or `nil` if they are not bound.
    var prover: ProofMaker?
    /// Whether the requests carry the user's password.
    var showsPassword = false
    /// Whether the requests refresh tokens.
    var isRefresh = false
    /// Whether the requests renew tokens, at a refresh or when a refresh token is imported.
    var isRenewal = false
    /// Whether the requests exchange tokens (RFC 8693).
    var isExchange = false
    var dialect = ServerDialect()
    /// The assertions sent with each request instead of a login, or `nil` if the form needs none.
    var assertions: GrantAssertions?

    /// Adds the client's credentials to `form` and sends it.
    ///
    /// - Returns: The response, and the time just before the request was sent.
    func send(_ form: FormBody) async throws(RefreshFailure) -> (answer: TokenResponse, requestedAt: Instant)
    {
        do throws(TokenRequestError) {
            return try await attempt(form)
        } catch {
            throw error.failure
        }
    }

    /// A failure, with facts that decide whether a retry may help.
    struct TokenRequestError: Error {
        var failure: RefreshFailure
        /// Whether reading the metadata again may help.
        var endpointIsMissing = false
        /// The date for another proof (RFC 9449 §8) or assertion, by the server's clock if known, or `nil` if
        /// none would help.
        var proofTime: WallTime?
        /// The refresh token of a successful response that could not be used.
        var leftover: RescuableRefreshToken?
    }

    /// Sends `form` like ``send(_:)``, for callers that can find the endpoint elsewhere.
    ///
    /// - Parameter form: The grant, to which credentials are added.
    /// - Returns: The response, and the time just before the request was sent.
    /// - Throws: ``TokenRequestError``.
    func attempt(
        _ form: FormBody
    ) async throws(TokenRequestError) -> (answer: TokenResponse, requestedAt: Instant) {
        var request = OutgoingRequest(
            url: url,
            form: form,
            trust: trust,
            publicAddressOnly: publicAddressOnly
        )
        request.headers = [("accept", "application/json")]
        request.format = dialect.requests
        do throws(TokenRequestError) {
            return accepted(try await send(try await proven(request, at: tools.timekeeper.wallTime)))
        } catch {
            // Send only one more: a server that is never satisfied must not keep the agent busy.
            guard let time = error.proofTime else {
                return try await sendOtherwise(request, after: error)
            }
            return try await send(try await proven(request, at: time))
        }
    }

    /// Sends `request` with the client secret in its body, after the server rejected Basic.
    private func sendOtherwise(
        _ request: OutgoingRequest,
        after refusal: TokenRequestError
    ) async throws(TokenRequestError) -> (answer: TokenResponse, requestedAt: Instant) {
        guard refusal.failure.code?.bytewise == "invalid_client", let other = authentication.alternative
        else {
            throw refusal
        }
        var endpoint = self
        endpoint.authentication = other
        do throws(TokenRequestError) {
            let time = tools.timekeeper.wallTime
            var reply = endpoint.accepted(
                try await endpoint.send(try await endpoint.proven(request, at: time))
            )
            reply.answer.remarks.append(.clientSecretInBody)
            return reply
        } catch {
            // The first way is the one that should work. The failure of the second way counts only if it got
            // further.
            guard error.failure.code?.bytewise == "invalid_client" else { throw error }
            throw refusal
        }
    }

    private func accepted(
        _ reply: (answer: TokenResponse, requestedAt: Instant)
    ) -> (answer: TokenResponse, requestedAt: Instant) {
        authentication.wasAccepted()
        return reply
    }

    /// Returns `request` with a new assertion and new proofs, because servers accept each of them only once.
    ///
    /// `time` is the date that the server compares with its clock.
    private func proven(
        _ request: OutgoingRequest,
        at time: WallTime
    ) async throws(TokenRequestError) -> OutgoingRequest {
        var request = request
        do throws(RefreshFailure) {
            try await assertions?.add(to: &request, at: time, tools)
            try await authentication.prove(&request, tools, at: time)
            guard let prover else { return request }
            let tokenRequest = ProofRequest(
                method: dialect.requests.placement == .get ? "GET" : "POST",
                target: url.proofTarget,
                nonce: tools.proofNonces[url]
            )
            request.headers.append(("dpop", try prover.proof(for: tokenRequest, at: time)))
        } catch {
            throw TokenRequestError(failure: error)
        }
        return request
    }

    private func send(
        _ request: OutgoingRequest
    ) async throws(TokenRequestError) -> (answer: TokenResponse, requestedAt: Instant) {
        let requestedAt = tools.timekeeper.now
        let reply: ServerResponse
        do throws(TransportFailure) {
            reply = try await tools.exchanged(request)
        } catch {
            throw TokenRequestError(failure: error.refreshFailure(at: url))
        }
        let hasNonce = tools.proofNonces.remember(from: reply, of: url)
        do throws(RefreshFailure) {
            return (try read(reply), reply.sentAt ?? requestedAt)
        } catch {
            let isMissing = [404, 405, 410].contains(reply.status) && error.code == nil
            throw TokenRequestError(
                failure: error,
                endpointIsMissing: isMissing,
                proofTime: proofTime(after: reply, refusedWith: error.code, hasNonce: hasNonce),
                leftover: leftover(of: reply, requestedAt: reply.sentAt ?? requestedAt)
            )
        }
    }

    /// Returns the date for a second proof or assertion, or `nil` if it would not help.
    private func proofTime(
        after reply: ServerResponse,
        refusedWith code: String?,
        hasNonce: Bool
    ) -> WallTime? {
        let now = tools.timekeeper.wallTime
        if prover != nil, code == "invalid_dpop_proof" || code == "use_dpop_nonce" && hasNonce {
            return reply.serverTime ?? now
        }
        if code == "invalid_grant", assertions?.isOurs == true { return reply.timeOfOtherClock(than: now) }
        return authentication.timeForAnother(after: reply, refusedWith: code, tools)
    }

    private var format: TokenResponseFormat {
        isRenewal ? dialect.responses : dialect.responses.ofLogins
    }

    /// Reads the token response in `reply`.
    ///
    /// - Throws: The classified failure if there is no token response.
    private func read(_ reply: ServerResponse) throws(RefreshFailure) -> TokenResponse {
        let format = format
        let found = TokenResponseBody(reply, format)
        let error = found.flatMap {
            format.error(
                in: $0.object,
                isSuccess: (200..<300).contains(reply.status),
                known: dialect.loginOverCodes
            )
        }
        if reply.status == 200 || reply.status == 201, let found, error == nil,
            format.hasAccessToken(found.object)
                || !ReportedOAuthError.isNamed(in: found.object, besides: format.names)
        {
            do throws(TokenResponse.Problem) {
                var answer = try format.tokens(
                    in: found.object,
                    isBound: prover != nil,
                    isExchanged: isExchange
                )
                answer.note(found)
                answer.serverTime = reply.serverTime
                return answer
            } catch {
                throw error.failure(of: url.hostAndPort)
            }
        }
        let object = found?.object ?? TokenResponseBody.refusal(in: reply)
        var answer = reply.refused(object: object, at: tools.timekeeper.wallTime)
        if let error { answer.error = error }
        answer.hadProof = prover != nil
        answer.hadPassword = showsPassword
        answer.isRefresh = isRefresh
        answer.loginOverCodes = dialect.loginOverCodes
        var failure = FailureClassification.classify(answer, from: url.hostAndPort)
        if failure.kind == .clientRejected {
            failure.remedy = authentication.rejectionRemedy(tools.memory)
        }
        throw failure
    }

    private func leftover(of reply: ServerResponse, requestedAt: Instant) -> RescuableRefreshToken? {
        let format = format
        guard (200..<300).contains(reply.status),
            let object = TokenResponseBody(reply, format)?.object,
            !format.paths.layers(of: object).contains(where: {
                ReportedOAuthError($0) != nil
            })
        else { return nil }
        return RescuableRefreshToken(
            format.leftover(in: object),
            format,
            requestedAt: requestedAt
        )
    }
}

extension GrantWarning {
    /// The warning that the server accepted the client secret only in the body.
    static let clientSecretInBody = GrantWarning(
        .clientSecretInBody,
        "the server accepts the client secret only in the body of requests "
            + Remedy.set("client_authentication = \"post\"").parenthesized
    )
}

extension ServerResponse {
    /// The time of the server's clock (RFC 9110 §6.6.1).
    var serverTime: WallTime? {
        header("date").flatMap { HTTPDate.read($0) }.map { WallTime(secondsSince1970: $0) }
    }

    /// Whether the body is a web page, written by a portal or a proxy and not by the server.
    var isHTML: Bool {
        let start = body.prefix(64).drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return start.first == UInt8(ascii: "<")
            || header("content-type")?.bytewise.lowercased.hasPrefix("text/html") == true
    }

    /// Returns the response as input for ``FailureClassification``.
    func refused(object: JSONObject?, at now: WallTime) -> TokenErrorResponse {
        let challenges = headers.filter { $0.name == "www-authenticate" }.map { $0.value.bytewise.lowercased }
        return TokenErrorResponse(
            status: status,
            error: object.flatMap { ReportedOAuthError($0) },
            said: object.flatMap { ReportedOAuthError.words(in: $0) },
            namesError: object.map { ReportedOAuthError.isNamed(in: $0) } ?? false,
            isHTML: isHTML,
            wantsBasic: challenges.contains { $0.hasPrefix("basic") },
            retryAfter: header("retry-after").flatMap { RetryAfter.read($0, at: now) }
        )
    }
}
