// SPDX-License-Identifier: MIT

/// The ways in which a server of kind `oidc` or `oauth2` differs from the specifications.
package struct ServerDialect: Hashable, Sendable {
    /// The text between two scopes, spelled as in the configuration (RFC 6749 §3.3: a space).
    package enum ScopeSeparator: String, CaseIterable, Sendable {
        case space = " "
        case comma = ","
    }

    /// The unit of the lifetimes in token responses (RFC 6749 §5.1: seconds).
    package var lifetimeUnit = LifetimeUnit.seconds
    package var scopeSeparator = ScopeSeparator.space
    /// Whether browser logins send a code challenge (RFC 7636).
    ///
    /// Some servers reject it.
    package var usesPKCE = true
    /// The error codes by which a refresh says that the login is over, besides those of the specifications.
    package var loginOverCodes: [String] = []

    package init() {}
}
