// SPDX-License-Identifier: MIT

import Text

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

    /// The parameters added to a token request for a code or for the client's credentials, by name.
    package var tokenParameters: [String: String] = [:]
    /// The parameters added to a refresh, by name.
    package var refreshParameters: [String: String] = [:]
    /// The `grant_type` for the client's credentials, if it is not `client_credentials` (RFC 6749 §4.4.2).
    package var clientGrantType: String?
    /// The members of token responses that the session keeps and shows.
    package var keptMembers: [String] = []

    package init() {}

    /// The parameters of refreshes that the agent sets.
    package static let ownRefreshParameters: Set<ByteText> = [
        "audience", "client_assertion", "client_assertion_type", "client_id", "client_secret", "grant_type",
        "refresh_token", "resource", "scope",
    ]
    /// The parameters of other token requests that the agent sets.
    package static let ownParameters = ownRefreshParameters.union([
        "assertion", "code", "code_verifier", "device_code", "password", "redirect_uri", "subject_token",
        "username",
    ])

    /// The members of token responses that are secret.
    package static let secretMembers: Set<ByteText> = ["access_token", "id_token", "refresh_token"]
}
