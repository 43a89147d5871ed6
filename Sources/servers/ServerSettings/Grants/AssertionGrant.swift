// SPDX-License-Identifier: MIT

import Text

/// An assertion that replaces a login (RFC 7523 §2.1).
package struct AssertionGrant: Equatable, Sendable {
    /// The source of the assertion.
    package enum Source: Equatable, Sendable {
        /// Another session, whose current token is sent with each request.
        case session
        /// A file that another program updates, read for each request.
        case file(String)
        /// The argument vector of a program that prints the assertion, run for each request.
        case command([String])
        /// An assertion signed by the agent for each request.
        case signed(AssertionKey)
        /// An assertion signed by the agent with the key in this file of a Google service account.
        case serviceAccount(String)

        /// The file or command to read, and its configuration key without `file` and `command`.
        ///
        /// `nil` if another session provides the assertion.
        package var supply: (name: String, source: SecretSource)? {
            switch self {
            case .session: nil
            case .file(let path): ("assertion", .file(path))
            case .command(let words): ("assertion", .command(words))
            case .signed(let key): ("assertion_key", key.source)
            case .serviceAccount(let path): ("service_account", .file(path))
            }
        }
    }

    package var source: Source
    /// The claims of an assertion signed by the agent, in addition to the standard ones or replacing them.
    package var claims: JSONObject

    package init(_ source: Source, claims: JSONObject = JSONObject()) {
        self.source = source
        self.claims = claims
    }

    /// The token endpoint of Google's service accounts.
    package static let serviceAccountEndpoint = "https://oauth2.googleapis.com/token"
    /// The claims that are new in each assertion.
    package static let freshClaims = ["iat", "exp", "jti"]
    /// The claims that must be a single string (RFC 7519 §4.1).
    ///
    /// A list of audiences would make an assertion usable at a server that it is not sent to.
    package static let textClaims = ["iss", "sub", "aud"]
}
