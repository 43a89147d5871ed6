// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// One login at a user pool: the password, then the challenges that the pool sends.
struct CognitoLogin {
    var server: CognitoServer
    var dialogue: CredentialPrompts

    /// The number of wrong codes or rejected new passwords, for each challenge, before a login fails.
    private static let tries = 3
    /// The maximum number of challenges in a row: password, new password, choice and code of a second factor,
    /// and a few more.
    private static let maximumChain = 8

    func run(_ flow: LoginFlow) async throws(LoginError) -> LoginGrant {
        if flow == .import { return try await logInByImport() }
        guard flow == .password else {
            let message = "kind cognito supports the flows password and import, not \(flow.rawValue)"
            throw .failed(RefreshFailure(kind: .misconfigured, message: message))
        }
        return try await logInByPassword()
    }

    private func logInByPassword() async throws(LoginError) -> LoginGrant {
        let username = try await dialogue.username()
        return try await dialogue.withPassword(of: username) { password throws(LoginError) in
            let calls = try await calls(for: username)
            let proof = server.pool.authFlow == .password ? nil : SRPClient()
            var answer = try await begin(calls, proof, password)
            for _ in 0..<CognitoLogin.maximumChain {
                if let grant = try grant(answer, account: username) { return grant }
                answer = try await meet(try challenge(in: answer), calls, proof, password)
            }
            throw .failed(
                RefreshFailure(kind: .misbehaved, message: "the pool requires too many login steps")
            )
        }
    }

    /// Imports a refresh token obtained elsewhere by using it once.
    private func logInByImport() async throws(LoginError) -> LoginGrant {
        try await dialogue.importing { token throws(LoginError) in
            let identity = try await identity()
            do throws(RefreshRequestError) {
                let (tokens, known) = try await server.renew(token, identity)
                return grant(tokens, known, fallback: .refreshToken(token), account: identity.username)
            } catch {
                throw .failed(error.failure)
            }
        }
    }

    /// Returns the user's identity.
    ///
    /// A client with a secret needs the user name, because its proof is made for one user name.
    private func identity() async throws(LoginError) -> CognitoUserClaims {
        var identity = CognitoUserClaims(accessToken: nil, idToken: nil)
        identity.username = dialogue.request.username
        if identity.username == nil, server.profile.client.proof != .none {
            identity.username = try await dialogue.username()
        }
        return identity
    }

    private func calls(for username: String) async throws(LoginError) -> CognitoLoginCalls {
        do throws(RefreshFailure) {
            return CognitoLoginCalls(
                endpoint: try server.endpoint(),
                clientID: server.profile.client.id,
                clientSecret: try await server.secrets.read(),
                username: username
            )
        } catch {
            throw .failed(error)
        }
    }

    /// Begins with SRP, unless the configuration requires the password itself to be sent.
    ///
    /// If the client does not allow SRP, the password is sent too, unless the configuration insists on SRP.
    private func begin(
        _ calls: CognitoLoginCalls,
        _ proof: SRPClient?,
        _ password: SecretID
    ) async throws(LoginError) -> CognitoLoginCalls.TimedResponse {
        do throws(CognitoErrorResponse) {
            guard let proof else { return try await calls.initiate(password: password) }
            do throws(CognitoErrorResponse) {
                return try await calls.initiate(proof)
            } catch {
                guard server.pool.authFlow == nil, error.meansFlowNotEnabled else { throw error }
                return try await calls.initiate(password: password)
            }
        } catch {
            throw .failed(error.failure)
        }
    }

    private func challenge(in answer: CognitoLoginCalls.TimedResponse) throws(LoginError) -> CognitoChallenge
    {
        if let challenge = CognitoChallenge(answer.object) { return challenge }
        let message = "the pool returned neither tokens nor a challenge"
        throw .failed(RefreshFailure(kind: .misbehaved, message: message))
    }

    // MARK: Challenges

    private func meet(
        _ challenge: CognitoChallenge,
        _ calls: CognitoLoginCalls,
        _ proof: SRPClient?,
        _ password: SecretID
    ) async throws(LoginError) -> CognitoLoginCalls.TimedResponse {
        switch challenge.name {
        case "PASSWORD_VERIFIER":
            return try await prove(password, to: challenge, calls, proof)
        case "NEW_PASSWORD_REQUIRED":
            return try await askAnswer(to: challenge, .newPassword, "New password", "NEW_PASSWORD", calls)
        case "SELECT_MFA_TYPE":
            guard let factor = challenge.preferredFactor else { throw unsupported(challenge) }
            return try await respond(to: challenge, [("ANSWER", .text(factor))], calls)
        default:
            guard let (parameter, prompt) = challenge.codeQuestion else { throw unsupported(challenge) }
            return try await askAnswer(to: challenge, .oneTimeCode, prompt, parameter, calls)
        }
    }

    private func prove(
        _ password: SecretID,
        to challenge: CognitoChallenge,
        _ calls: CognitoLoginCalls,
        _ proof: SRPClient?
    ) async throws(LoginError) -> CognitoLoginCalls.TimedResponse {
        let tools = server.tools
        let timestamp = CognitoTimestamp.text(of: tools.timekeeper.wallTime)
        let signature: String?
        do {
            signature = try unsafe tools.memory.open(password) { password in
                guard let proof, let numbers = challenge.passwordVerifier else { return String?.none }
                return unsafe proof.signature(
                    numbers,
                    password: password,
                    pool: String(server.pool.name),
                    timestamp: timestamp
                )
            }
        } catch {
            throw .failed(.locked)
        }
        guard let signature, let block = challenge.secretBlock else {
            let message = "the pool sent invalid SRP values"
            throw .failed(RefreshFailure(kind: .misbehaved, message: message))
        }
        let parameters: [CognitoLoginCalls.Parameter] = [
            ("PASSWORD_CLAIM_SECRET_BLOCK", .text(block)),
            ("PASSWORD_CLAIM_SIGNATURE", .text(signature)),
            ("TIMESTAMP", .text(timestamp)),
        ]
        return try await respond(to: challenge, parameters, calls)
    }

    /// Prompts the user, and prompts again if the value was wrong.
    private func askAnswer(
        to challenge: CognitoChallenge,
        _ kind: LoginInputPrompt.Kind,
        _ prompt: String,
        _ parameter: String,
        _ calls: CognitoLoginCalls
    ) async throws(LoginError) -> CognitoLoginCalls.TimedResponse {
        var asked = prompt
        var refusal: CognitoErrorResponse?
        for _ in 0..<CognitoLogin.tries {
            let answer = try await dialogue.ask(kind, asked)
            defer { server.tools.memory.erase(answer) }
            do throws(CognitoErrorResponse) {
                return try await calls.respond(to: challenge, [(parameter, .sealed(answer))])
            } catch {
                guard error.invitesAnotherTry else { throw .failed(error.failure) }
                refusal = error
                asked = ServerText.cleaned("\(error.explanation) \(prompt)", limit: 300)
            }
        }
        throw .failed(
            refusal?.failure ?? RefreshFailure(kind: .interactionRequired, message: "no valid input")
        )
    }

    private func respond(
        to challenge: CognitoChallenge,
        _ parameters: [CognitoLoginCalls.Parameter],
        _ calls: CognitoLoginCalls
    ) async throws(LoginError) -> CognitoLoginCalls.TimedResponse {
        do throws(CognitoErrorResponse) {
            return try await calls.respond(to: challenge, parameters)
        } catch {
            throw .failed(error.failure)
        }
    }

    private func unsupported(_ challenge: CognitoChallenge) -> LoginError {
        let message = "the pool requires \(challenge.name), which is not supported"
        return .failed(RefreshFailure(kind: .interactionRequired, code: challenge.name, message: message))
    }

    // MARK: Grant

    private func grant(
        _ answer: CognitoLoginCalls.TimedResponse,
        account: String
    ) throws(LoginError) -> LoginGrant? {
        guard let result = answer.object["AuthenticationResult"]?.object else { return nil }
        do throws(RefreshFailure) {
            let (tokens, identity) = try server.grant(result, of: answer.reply, answer.requestedAt)
            return grant(tokens, identity, account: account)
        } catch {
            throw .failed(error)
        }
    }

    private func grant(
        _ tokens: GrantedTokens,
        _ identity: CognitoUserClaims,
        fallback: RenewalMethod = .impossible,
        account: String?
    ) -> LoginGrant {
        var tokens = tokens
        tokens.refreshLifetime = RefreshLifetime(server.pool.refreshTokenValidity, source: .presumed)
        return LoginGrant(
            tokens: tokens,
            renewal: tokens.refreshToken.map(RenewalMethod.refreshToken) ?? fallback,
            tokenEndpoint: server.pool.url,
            subject: identity.subject.map { ServerText.cleaned($0, limit: 255) },
            account: account.map { ServerText.cleaned($0, limit: 255) }
        )
    }
}

extension CognitoErrorResponse {
    /// Whether the user mistyped a code or chose a password that the pool's policy rejects.
    fileprivate var invitesAnotherTry: Bool {
        [
            "CodeMismatchException", "InvalidPasswordException", "PasswordHistoryPolicyViolationException",
        ].contains(exception)
    }
}
