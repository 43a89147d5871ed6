// SPDX-License-Identifier: MIT

/// Which of a session's access tokens is meant: one per combination of scopes and audience.
package struct TokenVariant: Hashable, Sendable {
    /// Requested scopes, sorted, without duplicates; empty: whatever the login was granted.
    package let scopes: [String]
    /// Requested audience, sent as `resource` when it is an absolute URI (RFC 8707 §2), else as `audience`.
    package let audience: String?

    /// The token of the login itself.
    package static let primary = TokenVariant(scopes: [], audience: nil)

    package init(scopes: some Sequence<String>, audience: String?) {
        self.scopes = Set(scopes).sorted()
        self.audience = audience
    }
}
