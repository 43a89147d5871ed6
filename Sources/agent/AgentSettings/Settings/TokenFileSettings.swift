// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// One `[[file]]`: a file at a fixed path that holds a session's current token.
package struct TokenFileSettings: Equatable, Sendable {
    /// The content of the file, spelled as in the configuration.
    package enum Format: String, CaseIterable, Sendable {
        case token
        case bearer
        case header
        case headersJSON = "headers-json"
        case env
        /// An object with the token, its type, its scopes and its expiry.
        case json

        /// The output format of the token, or `nil` for the JSON object.
        package var form: TokenOutputFormat? { TokenOutputFormat(rawValue: rawValue) }
    }

    /// The absolute path.
    package var path: String
    package var session: SessionName
    /// Whether the file holds the ID token.
    package var wantsIDToken: Bool
    /// The scopes of a separate token; empty for all scopes of the login.
    package var scopes: [String]
    /// The audience of a separate token.
    package var audience: String?
    package var format: Format

    init(
        path: String,
        session: SessionName,
        wantsIDToken: Bool = false,
        scopes: [String] = [],
        audience: String? = nil,
        format: Format = .token
    ) {
        self.path = path
        self.session = session
        self.wantsIDToken = wantsIDToken
        self.scopes = scopes
        self.audience = audience
        self.format = format
    }
}
