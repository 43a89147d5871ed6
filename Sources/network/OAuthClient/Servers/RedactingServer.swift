// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

/// A wrapper around a server of any kind that removes the session's secrets from all it returns.
///
/// A server may write the secrets sent to it into an error description, a scope, a user code or the name of a
/// challenge, which appear in responses, in `status`, in events and in the log. All of these pass through
/// this type before anything is kept, shown or logged.
struct RedactingServer: AuthorizationServer {
    let server: any AuthorizationServer
    let names: ExchangeSecrets.ParameterNames
    let memory: SealedMemory

    var profile: ServerProfile { server.profile }

    var heldSecrets: [SecretID] {
        get async { await server.heldSecrets }
    }

    func refresh(_ request: RefreshRequest) async -> RefreshOutcome {
        let secrets = await secrets()
        secrets.remember(request.renewal.refreshToken, in: memory)
        secrets.remember(request.accessToken, in: memory)
        secrets.remember(request.idToken, in: memory)
        secrets.remember(request.sources.subject, in: memory)
        secrets.remember(request.sources.actor, in: memory)
        let outcome = await ExchangeSecrets.$current.withValue(secrets) { await server.refresh(request) }
        switch outcome {
        case .granted(let tokens): return .granted(redacted(tokens, secrets))
        case .failed(let failure): return .failed(failure.redacted(secrets))
        case .unusable(let failure, let saved):
            secrets.remember(saved.refreshToken, in: memory)
            return .unusable(failure.redacted(secrets), saved)
        }
    }

    func logIn(_ request: LoginRequest, conversation: any LoginPrompting) async -> LoginOutcome {
        let secrets = await secrets()
        secrets.remember(request.secret, in: memory)
        let discreet = RedactingPrompter(conversation: conversation, secrets: secrets, memory: memory)
        let outcome = await ExchangeSecrets.$current.withValue(secrets) {
            await server.logIn(request, conversation: discreet)
        }
        switch outcome {
        case .granted(var grant):
            secrets.remember(grant.renewal.refreshToken, in: memory)
            grant.tokens = redacted(grant.tokens, secrets)
            grant.subject = grant.subject.map(secrets.redacted)
            return .granted(grant)
        case .failed(let failure): return .failed(failure.redacted(secrets))
        case .cancelled: return .cancelled
        }
    }

    func revoke(_ tokens: RevocationRequest) async -> RevocationOutcome {
        let secrets = await secrets()
        for token in [tokens.refreshToken, tokens.accessToken, tokens.idToken] {
            secrets.remember(token, in: memory)
        }
        let outcome = await ExchangeSecrets.$current.withValue(secrets) { await server.revoke(tokens) }
        switch outcome {
        case .refused(let failure): return .refused(failure.redacted(secrets))
        case .failed(let failure): return .failed(failure.redacted(secrets))
        case .unsupported(let message): return .unsupported(secrets.redacted(message))
        case .revoked, .nothing: return outcome
        }
    }

    func unregister(_ found: DiscoveredServer?) async {
        let secrets = await secrets()
        await ExchangeSecrets.$current.withValue(secrets) { await server.unregister(found) }
    }

    private func secrets() async -> ExchangeSecrets {
        let secrets = ExchangeSecrets(names)
        for secret in await server.heldSecrets { secrets.remember(secret, in: memory) }
        return secrets
    }

    private func redacted(_ tokens: GrantedTokens, _ secrets: ExchangeSecrets) -> GrantedTokens {
        var tokens = tokens
        for token in [tokens.accessToken, tokens.idToken?.secret, tokens.refreshToken] {
            secrets.remember(token, in: memory)
        }
        tokens.tokenType = secrets.redacted(tokens.tokenType)
        tokens.serverTokenType = tokens.serverTokenType.map(secrets.redacted)
        tokens.scope = tokens.scope?.map(secrets.redacted)
        if !tokens.keptMembers.isEmpty {
            tokens.keptMembers = tokens.keptMembers.mapValues(secrets.redacted)
        }
        tokens.remarks = tokens.remarks.map { GrantWarning($0.kind, secrets.redacted($0.message)) }
        return tokens
    }
}

/// The prompts of a login, with secrets removed from the texts shown.
///
/// Secret input is recorded.
private struct RedactingPrompter: LoginPrompting {
    let conversation: any LoginPrompting
    let secrets: ExchangeSecrets
    let memory: SealedMemory

    func tell(_ step: LoginMessage) async {
        switch step {
        // A resource says this before anything was sent to the server.
        case .serverFound: await conversation.tell(step)
        case .openURL(let address, let redirectURI):
            await conversation.tell(.openURL(secrets.redacted(address), redirectURI: redirectURI))
        case .userCode(let code, let verificationURI, let complete, let expiresIn):
            await conversation.tell(
                .userCode(
                    code: secrets.redacted(code),
                    verificationURI: secrets.redacted(verificationURI),
                    complete: complete.map(secrets.redacted),
                    expiresIn: expiresIn
                )
            )
        case .notice(let text): await conversation.tell(.notice(secrets.redacted(text)))
        }
    }

    func whenEnded(_ show: @escaping @Sendable (LoginResultForBrowser) -> Void) async {
        await conversation.whenEnded(show)
    }

    func ask(_ question: LoginInputPrompt) async throws -> SecretID {
        var question = question
        question.prompt = secrets.redacted(question.prompt)
        let answer = try await conversation.ask(question)
        switch question.kind {
        case .username, .redirectAddress: break
        case .password, .newPassword, .oneTimeCode, .refreshToken: secrets.remember(answer, in: memory)
        }
        return answer
    }
}

extension RefreshFailure {
    fileprivate func redacted(_ secrets: ExchangeSecrets) -> RefreshFailure {
        var failure = self
        failure.code = code.map { RefreshFailure.words.contains($0.bytewise) ? $0 : secrets.redacted($0) }
        failure.message = secrets.redacted(message)
        return failure
    }

    /// The codes that are compared later.
    ///
    /// A protocol code is shown even if it equals somebody's password.
    private static let words: Set<ByteText> = [
        "invalid_client", "invalid_grant", "invalid_token", "invalid_scope", "invalid_target",
        "invalid_request",
        "expired_token", "access_denied", "issuer_mismatch", "unauthorized_client", "unsupported_grant_type",
    ]
}
