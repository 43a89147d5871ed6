// SPDX-License-Identifier: MIT

import SealedStore
import Text
import TokenCore

/// A mobile back end with JSON endpoints of its own: kind `json`.
struct JSONServer: AuthorizationServer {
    let profile: ServerProfile
    let backEnd: JSONBackEnd
    let tools: ServerTools

    /// Such a back end knows no clients.
    var heldSecrets: [SecretID] { [] }

    private var rules: JSONRules { backEnd.rules }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        do throws(FailedRenewal) {
            return .granted(try await renew(request))
        } catch {
            return tools.outcome(of: error, renewing: request.renewal)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginConversing) async -> LoginOutcome {
        let dialogue = LoginDialogue(request: request, conversation: conversation, memory: tools.memory)
        do throws(LoginStop) {
            return .granted(try await logIn(request.flow ?? profile.flow, dialogue))
        } catch {
            switch error {
            case .cancelled: return .cancelled
            case .failed(let failure): return Task.isCancelled ? .cancelled : .failed(failure)
            }
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        await JSONLogout(server: self, tokens: tokens).run()
    }

    // MARK: Login

    private func logIn(_ flow: LoginFlow, _ dialogue: LoginDialogue) async throws(LoginStop) -> LoginGrant {
        switch flow {
        case .password: return try await logInByPassword(dialogue)
        case .import: return try await logInByImport(dialogue)
        case .browser, .device, .clientCredentials:
            let message = "sessions of kind json log in by password or import, not \(flow.rawValue)"
            throw .failed(RefreshFailure(kind: .misconfigured, message: message))
        }
    }

    private func logInByPassword(_ dialogue: LoginDialogue) async throws(LoginStop) -> LoginGrant {
        guard let url = backEnd.loginURL else {
            let message = "there is no login_url: import a refresh token"
            throw .failed(RefreshFailure(kind: .misconfigured, message: message))
        }
        let username = try await dialogue.username()
        return try await dialogue.withPassword(of: username) { password throws(LoginStop) in
            do throws(FailedRenewal) {
                let tokens = try await tokens(from: url) { members throws(RefreshFailure) in
                    members.add(rules.fields.username, username)
                    try members.add(rules.fields.password, password, from: tools.memory)
                }
                return grant(tokens, account: username)
            } catch {
                throw .failed(error.failure)
            }
        }
    }

    /// Takes over a refresh token obtained elsewhere, by using it once.
    private func logInByImport(_ dialogue: LoginDialogue) async throws(LoginStop) -> LoginGrant {
        try await dialogue.importing { token throws(LoginStop) in
            do throws(FailedRenewal) {
                let tokens = try await tokens(refreshing: token)
                return grant(tokens, fallback: .refreshToken(token), account: dialogue.request.username)
            } catch {
                throw .failed(error.failure)
            }
        }
    }

    private func grant(
        _ tokens: GrantedTokens,
        fallback: Renewal = .impossible,
        account: String?
    ) -> LoginGrant {
        LoginGrant(
            tokens: tokens,
            renewal: tokens.refreshToken.map(Renewal.refreshToken) ?? fallback,
            tokenEndpoint: backEnd.refreshURL,
            account: account.map { ServerText.cleaned($0, limit: 255) }
        )
    }

    // MARK: Refresh

    private func renew(_ request: RefreshRequest) async throws(FailedRenewal) -> GrantedTokens {
        let token: SecretID
        do throws(RefreshFailure) {
            token = try refreshToken(of: request)
        } catch {
            throw FailedRenewal(failure: error)
        }
        return try await tokens(refreshing: token)
    }

    private func refreshToken(of request: RefreshRequest) throws(RefreshFailure) -> SecretID {
        guard request.variant == .primary else {
            let message = "sessions of kind json have one token, without scope or audience"
            throw RefreshFailure(kind: .variantRefused, message: message)
        }
        guard case .refreshToken(let token) = request.renewal else {
            let message = "the server gave no refresh token: log in again"
            throw RefreshFailure(kind: .sessionOver, code: "unauthorized", message: message)
        }
        try checkPin(request.tokenEndpoint)
        return token
    }

    /// A refresh token goes nowhere but to the address it was given for.
    ///
    /// - Throws: `misconfigured` if the configuration now names another address.
    func checkPin(_ tokenEndpoint: String?) throws(RefreshFailure) {
        guard let tokenEndpoint, tokenEndpoint != backEnd.refreshURL else { return }
        let message = "refresh_url is not the one this session logged in at (\(tokenEndpoint)): log in again"
        throw RefreshFailure(kind: .misconfigured, message: ServerText.cleaned(message))
    }

    func tokens(refreshing token: SecretID) async throws(FailedRenewal) -> GrantedTokens {
        try await tokens(from: backEnd.refreshURL, refreshing: token) { members throws(RefreshFailure) in
            try members.add(rules.fields.refreshToken, token, from: tools.memory)
        }
    }

    // MARK: Exchange

    private func tokens(
        from address: String,
        refreshing sent: SecretID? = nil,
        _ members: (JSONRequestBody.Members) throws(RefreshFailure) -> Void
    ) async throws(FailedRenewal) -> GrantedTokens {
        let requestedAt = tools.timekeeper.now
        var leftover: Leftover?
        do throws(RefreshFailure) {
            let (reply, url) = try await post(members, to: address)
            if (200..<300).contains(reply.status) {
                leftover = Leftover(reply.jsonObject, rules.fields.renewal, requestedAt: requestedAt)
            }
            let (answer, kept) = try read(reply, from: url.hostAndPort)
            return try tools.seal(answer, requestedAt: requestedAt, sent: sent, kept: kept)
        } catch {
            throw FailedRenewal(failure: error, leftover: leftover)
        }
    }

    /// The tokens in `reply`, and its members to keep.
    private func read(
        _ reply: HTTPReply,
        from server: String
    ) throws(RefreshFailure) -> (TokenResponse, kept: [String: String]) {
        guard (200..<300).contains(reply.status), let object = reply.jsonObject, !rules.isRefusal(object)
        else { throw rules.classify(reply, from: server, at: tools.timekeeper.wallTime) }
        do throws(TokenResponse.Problem) {
            var answer = try TokenResponse(object, rules.fields)
            answer.serverTime = reply.serverTime
            return (answer, rules.kept(of: object))
        } catch {
            throw error.failure(of: server)
        }
    }

    func post(
        _ members: (JSONRequestBody.Members) throws(RefreshFailure) -> Void,
        to address: String,
        bearer: SecretID? = nil
    ) async throws(RefreshFailure) -> (HTTPReply, EndpointURL) {
        let url = try endpoint(address)
        var request = OutgoingRequest(url: url, trust: profile.trust)
        request.json = try JSONRequestBody(members)
        request.headers = [("accept", "application/json")]
        if let bearer {
            request.headers.append(("authorization", "Bearer " + (try tools.memory.text(of: bearer))))
        }
        return (try await tools.send(request), url)
    }

    private func endpoint(_ address: String) throws(RefreshFailure) -> EndpointURL {
        do throws(EndpointProblem) {
            return try EndpointURL(address)
        } catch {
            let message = ServerText.cleaned("\(address) \(error)")
            throw RefreshFailure(kind: .misconfigured, message: message)
        }
    }
}
