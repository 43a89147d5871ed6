// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// What a session without a login gets its tokens for; without one of these that is the client's own credentials.
package enum TokenGrant: Equatable, Sendable {
    /// Another token (RFC 8693).
    case exchange(TokenExchange)
    /// An assertion (RFC 7523 §2.1).
    case assertion(AssertionGrant)

    /// Whether an answer may bring a token that is no access token.
    var isExchange: Bool { if case .exchange = self { true } else { false } }

    /// Whether the scope stands in the assertion: Google looks for it nowhere else.
    var saysScope: Bool {
        guard case .assertion(let grant) = self, case .serviceAccount = grant.source else { return false }
        return true
    }

    /// The token to exchange, where no session has it; the caller erases it.
    func subjectToken(_ tools: ServerDependencies) async throws(RefreshFailure) -> SecretID? {
        guard case .exchange(let exchange) = self else { return nil }
        return try await exchange.subjectToken(tools)
    }

    /// Adds the grant to `form`, with what other sessions have for it.
    ///
    /// - Throws: `sourceUnavailable` if that is not there, or that the vault is locked.
    func add(
        _ tokens: SourceTokens,
        to form: FormBody,
        _ memory: SealedMemory
    ) throws(RefreshFailure) {
        switch self {
        case .exchange(let exchange): try exchange.add(tokens, to: form, memory)
        case .assertion(let grant): try grant.add(tokens, to: form, memory)
        }
    }
}
