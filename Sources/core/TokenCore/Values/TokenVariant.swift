// SPDX-License-Identifier: MIT

/// The combination of scopes and audience that identifies one of a session's access tokens.
package struct TokenVariant: Hashable, Sendable {
    /// The requested scopes, sorted and without duplicates.
    ///
    /// Empty means all scopes granted to the login.
    package let scopes: [String]
    /// The requested audience, sent as `resource` if it is an absolute URI (RFC 8707 §2), else as `audience`.
    package let audience: String?

    /// The login's own token.
    package static let primary = TokenVariant(scopes: [], audience: nil)

    package init(scopes: some Sequence<String>, audience: String?) {
        self.scopes = Set(scopes).sorted()
        self.audience = audience
    }
}
