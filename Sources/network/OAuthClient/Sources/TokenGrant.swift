// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// The grant of a session without a login.
///
/// Without one of these, the client's own credentials are used.
package enum TokenGrant: Equatable, Sendable {
    /// The exchange of another token (RFC 8693).
    case exchange(TokenExchange)
    /// An assertion (RFC 7523 §2.1).
    case assertion(AssertionGrant)

    /// Whether a response may contain a token that is not an access token.
    var isExchange: Bool { if case .exchange = self { true } else { false } }

    /// Whether the assertion contains the scope.
    ///
    /// Google reads it only there.
    var saysScope: Bool {
        guard case .assertion(let grant) = self, case .serviceAccount = grant.source else { return false }
        return true
    }

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
