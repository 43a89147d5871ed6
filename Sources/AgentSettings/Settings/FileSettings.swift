// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// One `[[file]]`: a file at a fixed place that holds a session's present token.
package struct FileSettings: Equatable, Sendable {
    /// What the file holds, spelled as in the configuration.
    package enum Format: String, CaseIterable, Sendable {
        case token
        case bearer
        case header
        case headersJSON = "headers-json"
        case env
        /// An object with the token, its type, its scopes and when it ends.
        case json

        /// What stands around the token; `nil` for the object.
        package var form: TokenOutputFormat? { TokenOutputFormat(rawValue: rawValue) }
    }

    /// Absolute.
    package var path: String
    package var session: SessionName
    /// Whether it is the ID token.
    package var wantsIDToken: Bool
    /// Scopes of a token of its own; empty: all that the login was granted.
    package var scopes: [String]
    /// Whom a token of its own is for.
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
