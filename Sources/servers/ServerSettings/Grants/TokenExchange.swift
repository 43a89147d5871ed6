// SPDX-License-Identifier: MIT

import Text

/// The token that a session exchanges for its tokens (RFC 8693 §2.1).
package struct TokenExchange: Equatable, Sendable {
    /// The source of the token that represents the user.
    package enum Subject: Equatable, Sendable {
        /// Another session, whose current access or ID token is sent with each request.
        case session
        /// A file that another program updates, read each time.
        case file(String)
        /// The argument vector of a program that prints the token, run each time.
        case command([String])
    }

    package var subject: Subject
    /// The type of the subject's token, a URI (RFC 8693 §3).
    package var subjectTokenType: String
    /// The type of the requested token, a URI, or `nil` if the server decides.
    package var requestedTokenType: String?

    package init(subject: Subject, subjectTokenType: String, requestedTokenType: String? = nil) {
        self.subject = subject
        self.subjectTokenType = subjectTokenType
        self.requestedTokenType = requestedTokenType
    }
}

/// The type of a token in an exchange (RFC 8693 §3).
package struct TokenType: Equatable, Sendable {
    package let uri: String

    private static let prefix = "urn:ietf:params:oauth:token-type:"

    package static let accessToken = TokenType(name: "access_token")
    package static let idToken = TokenType(name: "id_token")
    package static let jwt = TokenType(name: "jwt")
    package static let refreshToken = TokenType(name: "refresh_token")

    private init(name: String) {
        uri = TokenType.prefix + name
    }

    /// Parses a configured type, a URI or the last word of a standard type, or returns `nil` if `text` is
    /// neither.
    package init?(written text: String) {
        let uri = text.utf8.contains(UInt8(ascii: ":")) ? text : TokenType.prefix + text
        guard uri.isAbsoluteURI else { return nil }
        self.uri = uri
    }

    package static func == (left: TokenType, right: TokenType) -> Bool {
        left.uri.bytewise == right.uri.bytewise
    }
}
