// SPDX-License-Identifier: MIT

import Text

/// The output format of a token, printed or in a file: the text before and after the token.
///
/// The format consists of bytes around the token, so that the agent needs no copy of the token outside of
/// locked memory.
package enum TokenOutputFormat: String, CaseIterable, Sendable {
    /// The bare token.
    case token
    /// `Bearer …`, for programs that require the value of the header.
    case bearer
    /// `Authorization: Bearer …`, for `curl -H @FILE`.
    case header
    /// `{"Authorization":"Bearer …"}`, for programs that accept headers as JSON.
    case headersJSON = "headers-json"
    /// `BEARER_TOKEN=…`, for a shell or an environment file (WLCG bearer token discovery).
    case env

    /// Returns the text before and after a token of `scheme`, on one line without its line break.
    package func surroundings(scheme: String) -> (before: String, after: String) {
        switch self {
        case .token: ("", "")
        case .bearer: ("\(scheme) ", "")
        case .header: ("Authorization: \(scheme) ", "")
        case .headersJSON: ("{\"Authorization\":\"\(scheme) ", "\"}")
        case .env: ("BEARER_TOKEN=", "")
        }
    }

    /// Returns whether `token` can be written unchanged, without characters that have a meaning in this
    /// format.
    package func fits(_ token: some Collection<UInt8>) -> Bool {
        switch self {
        case .token, .bearer, .header: token.isVisibleWord
        case .headersJSON: token.isVisibleWord && token.allSatisfy(\.isNQChar)
        // A shell would replace a leading `~` by a home directory.
        case .env: !token.isEmpty && token.allSatisfy(\.isUsualInToken) && token.first != UInt8(ascii: "~")
        }
    }

    /// Returns the authentication scheme for a token of `type`.
    ///
    /// Token types are case-insensitive (RFC 6749 §5.1), but the schemes of some servers are not.
    ///
    /// - Parameter type: The type as written by the server, or `nil` if there is none.
    /// - Returns: `Bearer`, `DPoP`, or another word unchanged.
    package static func scheme(ofType type: String?) -> String {
        let type = type ?? ""
        switch type.lowercased() {
        case "dpop": return "DPoP"
        case "bearer", "": return "Bearer"
        default: return type.utf8.allSatisfy(\.isNQChar) ? type : "Bearer"
        }
    }
}

extension UInt8 {
    /// Whether the byte is usual in tokens (RFC 6750 §2.1, `b64token`), and has no meaning in any one-line
    /// format.
    package var isUsualInToken: Bool { isUnreserved || "+/=".utf8.contains(self) }
}
