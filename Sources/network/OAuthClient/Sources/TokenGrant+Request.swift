// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import TokenCore

extension TokenGrant {
    /// Reads the token to exchange, or returns `nil` if a session provides it.
    ///
    /// The caller erases it.
    func subjectToken(_ tools: ServerDependencies) async throws(RefreshFailure) -> SecretID? {
        guard case .exchange(let exchange) = self else { return nil }
        return try await exchange.subjectToken(tools)
    }

    /// Adds the grant to `form`, with the tokens of other sessions.
    ///
    /// - Throws: `sourceUnavailable` if such a token is missing, or `busy` while sealed memory is locked.
    func add(
        _ tokens: SubjectAndActorTokens,
        to form: FormBody,
        _ memory: SealedMemory
    ) throws(RefreshFailure) {
        switch self {
        case .exchange(let exchange): try exchange.add(tokens, to: form, memory)
        case .assertion(let grant): try grant.add(tokens, to: form, memory)
        }
    }
}
