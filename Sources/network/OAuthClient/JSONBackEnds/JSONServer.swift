// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// A server of kind `json`: a mobile back end with its own JSON endpoints.
///
/// ``JSONBackEnd`` and its ``JSONRules`` hold all that differs between back ends.
///
/// - Entry points: ``refresh(_:)``, ``logIn(_:conversation:)``, ``revoke(_:)``. ``JSONLogin`` and
///   ``JSONLogout`` do the work.
/// - May not: send a refresh token to another refresh URL than the one of the login.
struct JSONServer: AuthorizationServer {
    let profile: ServerProfile
    let backEnd: JSONBackEnd
    let tools: ServerDependencies

    private let constants: ConstantSecrets

    init(profile: ServerProfile, backEnd: JSONBackEnd, tools: ServerDependencies) {
        self.profile = profile
        self.backEnd = backEnd
        self.tools = tools
        constants = ConstantSecrets(backEnd.constants, tools)
    }

    /// The secrets of the app.
    ///
    /// Such a back end has no clients.
    var heldSecrets: [SecretID] {
        get async { await constants.held }
    }

    private var rules: JSONBackEndDialect { backEnd.rules }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        do throws(RefreshRequestError) {
            return .granted(try await renew(request))
        } catch {
            return tools.outcome(of: error, renewing: request.renewal)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        let dialogue = CredentialPrompts(request: request, conversation: conversation, memory: tools.memory)
        do throws(LoginError) {
            return .granted(
                try await JSONLogin(server: self, dialogue: dialogue).run(request.flow ?? profile.flow)
            )
        } catch {
            return error.outcome
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        await JSONLogout(server: self, tokens: tokens).run()
    }

    // MARK: Refresh

    private func renew(_ request: RefreshRequest) async throws(RefreshRequestError) -> GrantedTokens {
        let token: SecretID
        do throws(RefreshFailure) {
            token = try refreshToken(of: request)
        } catch {
            throw RefreshRequestError(failure: error)
        }
        return try await tokens(refreshing: token)
    }

    private func refreshToken(of request: RefreshRequest) throws(RefreshFailure) -> SecretID {
        guard request.variant == .primary else {
            let message = "kind json does not support scopes or audiences"
            throw RefreshFailure(kind: .variantRefused, message: message)
        }
        guard let token = request.renewal.refreshToken else {
            let message = "cannot refresh: the login returned no refresh token"
            throw RefreshFailure(kind: .sessionOver, code: "unauthorized", message: message)
        }
        try checkPin(request.tokenEndpoint)
        return token
    }

    /// Checks that a refresh token is sent only to the URL that it was issued for.
    ///
    /// - Throws: `misconfigured` if the configuration now names another URL.
    func checkPin(_ tokenEndpoint: String?) throws(RefreshFailure) {
        guard let tokenEndpoint, tokenEndpoint != backEnd.refreshURL else { return }
        let message = "refresh_url differs from the one used at login (\(tokenEndpoint))"
        throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message), needsLogin: true)
    }

    func tokens(refreshing token: SecretID) async throws(RefreshRequestError) -> GrantedTokens {
        try await tokens(from: backEnd.refreshURL, refreshing: token) { members throws(RefreshFailure) in
            try members.add(rules.responses.names.refreshToken, token, from: tools.memory)
        }
    }

    // MARK: Exchange

    /// A response of the back end to one request.
    struct Answer {
        var reply: ServerResponse
        /// The URL of the request.
        var url: EndpointURL
        /// The time just before the request was sent.
        var requestedAt: Instant
        /// The purpose of the request: login, refresh or logout.
        var purpose: JSONPurpose

        var isSuccess: Bool { (200..<300).contains(reply.status) }
    }

    /// Sends a request with `members` and returns the tokens in the response.
    func tokens(
        from address: String,
        refreshing sent: SecretID? = nil,
        _ members: (JSONRequestBody.MemberWriter) throws(RefreshFailure) -> Void
    ) async throws(RefreshRequestError) -> GrantedTokens {
        let answer: Answer
        do throws(RefreshFailure) {
            answer = try await post(members, to: address, for: sent == nil ? .login : .refresh)
        } catch {
            throw RefreshRequestError(failure: error)
        }
        return try tokens(in: answer, refreshing: sent)
    }

    /// Returns the tokens in `answer`.
    ///
    /// `sent` is the refresh token of the request, if there was one.
    func tokens(
        in answer: Answer,
        refreshing sent: SecretID? = nil
    ) throws(RefreshRequestError) -> GrantedTokens {
        do throws(RefreshFailure) {
            return try tools.seal(try read(answer), requestedAt: answer.requestedAt, sent: sent)
        } catch {
            let content = body(of: answer).flatMap {
                rules.responses(to: answer.purpose).leftover(in: $0.object)
            }
            let leftover = RescuableRefreshToken(
                content,
                rules.responses,
                requestedAt: answer.requestedAt
            )
            throw RefreshRequestError(failure: error, leftover: answer.isSuccess ? leftover : nil)
        }
    }

    private func body(of answer: Answer) -> TokenResponseBody? {
        TokenResponseBody(answer.reply, rules.responses(to: answer.purpose))
    }

    /// Parses the tokens in `answer`, and the members that the session keeps.
    private func read(_ answer: Answer) throws(RefreshFailure) -> TokenResponse {
        guard answer.isSuccess, let found = body(of: answer), !rules.isRefusal(found.object, answer.purpose)
        else { throw failure(answer) }
        do throws(TokenResponse.Problem) {
            var tokens = try rules.responses(to: answer.purpose).tokens(in: found.object)
            tokens.note(found)
            tokens.serverTime = answer.reply.serverTime
            return tokens
        } catch {
            throw error.failure(of: answer.url.hostAndPort)
        }
    }

    /// Returns the failure for a response that does not contain what was requested.
    func failure(_ answer: Answer) -> RefreshFailure {
        let now = tools.timekeeper.wallTime
        return rules.classify(answer.reply, answer.purpose, from: answer.url.hostAndPort, at: now)
    }

    /// Sends a request with `members` and the constant members and headers of the back end.
    func post(
        _ members: (JSONRequestBody.MemberWriter) throws(RefreshFailure) -> Void,
        to address: String,
        for purpose: JSONPurpose,
        bearer: SecretID? = nil
    ) async throws(RefreshFailure) -> Answer {
        let url = try EndpointURL(address, of: address)
        let secrets = try await constants.read()
        var request = OutgoingRequest(url: url, trust: profile.trust)
        request.json = try JSONRequestBody { body throws(RefreshFailure) in
            try members(body)
            try backEnd.constants.add(to: body, secrets, from: tools.memory)
        }
        request.headers = [("accept", "application/json")]
        request.headers += try backEnd.constants.headers(with: secrets, from: tools.memory)
        if let bearer {
            request.headers.append(("authorization", "Bearer " + (try tools.memory.text(of: bearer))))
        }
        let requestedAt = tools.timekeeper.now
        let reply = try await tools.send(request)
        let answer = Answer(
            reply: reply,
            url: url,
            requestedAt: reply.sentAt ?? requestedAt,
            purpose: purpose
        )
        // A rejection that does not concern the session may concern a secret that has been replaced.
        if [401, 403].contains(answer.reply.status), !rules.isAboutSession(answer.reply) {
            await constants.forget()
        }
        return answer
    }
}
