// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

extension TokenExchange {
    private static let grantType = "urn:ietf:params:oauth:grant-type:token-exchange"

    /// Reads the subject's token, or returns `nil` if a session provides it.
    ///
    /// The caller erases it.
    func subjectToken(_ tools: ServerDependencies) async throws(RefreshFailure) -> SecretID? {
        let token: String
        switch subject {
        case .session: return nil
        case .file(let path):
            let file = ExternalAssertion(source: .file(path), name: "subject_token", workflow: nil)
            token = try await file.fetch(audience: "", tools)
        case .command(let words):
            let command = TokenCommand(words, key: "subject_token_command")
            token = try await command.run(tools).token
        }
        return try tools.memory.sealing(token, as: .accessToken)
    }

    /// Adds the parameters of an exchange of `tokens` to `form`.
    ///
    /// - Throws: `sourceUnavailable` if there is no subject token, or `busy` while sealed memory is locked.
    func add(
        _ tokens: SubjectAndActorTokens,
        to form: FormBody,
        _ memory: SealedMemory
    ) throws(RefreshFailure) {
        guard let subject = tokens.subject else {
            let message = "no token is available to exchange"
            throw RefreshFailure(kind: .sourceUnavailable, message: message)
        }
        form.add("grant_type", TokenExchange.grantType)
        try form.add("subject_token", subject, from: memory)
        form.add("subject_token_type", subjectTokenType)
        if let actor = tokens.actor {
            try form.add("actor_token", actor, from: memory)
            form.add("actor_token_type", TokenType.accessToken.uri)
        }
        if let requestedTokenType { form.add("requested_token_type", requestedTokenType) }
    }
}
