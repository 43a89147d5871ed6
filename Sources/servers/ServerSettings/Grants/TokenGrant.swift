// SPDX-License-Identifier: MIT

/// The grant of a session without a login.
///
/// Without one of these, the client's own credentials are used.
package enum TokenGrant: Equatable, Sendable {
    /// The exchange of another token (RFC 8693).
    case exchange(TokenExchange)
    /// An assertion (RFC 7523 §2.1).
    case assertion(AssertionGrant)

    /// Whether a response may contain a token that is not an access token.
    package var isExchange: Bool { if case .exchange = self { true } else { false } }

    /// Whether the assertion contains the scope.
    ///
    /// Google reads it only there.
    package var saysScope: Bool {
        guard case .assertion(let grant) = self, case .serviceAccount = grant.source else { return false }
        return true
    }
}
