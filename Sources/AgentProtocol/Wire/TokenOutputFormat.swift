// SPDX-License-Identifier: MIT

import Text

/// A token as other programs read it, printed or in a file, but for the token itself: what stands before and after it.
///
/// Bytes around it, so that the agent needs no copy of the token outside of locked memory.
package enum TokenOutputFormat: String, CaseIterable, Sendable {
    /// The bare token.
    case token
    /// `Bearer …`, for programs that want the value of the header.
    case bearer
    /// `Authorization: Bearer …`, for `curl -H @FILE`.
    case header
    /// `{"Authorization":"Bearer …"}`, for programs that take headers as JSON.
    case headersJSON = "headers-json"
    /// `BEARER_TOKEN=…`, for a shell or an environment file (WLCG bearer token discovery).
    case env

    /// What stands before and after a token of `scheme`, on one line without its end.
    package func surroundings(scheme: String) -> (before: String, after: String) {
        switch self {
        case .token: ("", "")
        case .bearer: ("\(scheme) ", "")
        case .header: ("Authorization: \(scheme) ", "")
        case .headersJSON: ("{\"Authorization\":\"\(scheme) ", "\"}")
        case .env: ("BEARER_TOKEN=", "")
        }
    }

    /// Whether `token` stands there as it is, with nothing in it that its readers would take for something else.
    package func fits(_ token: some Collection<UInt8>) -> Bool {
        switch self {
        case .token, .bearer, .header: token.isVisibleWord
        case .headersJSON: token.isVisibleWord && token.allSatisfy(\.isNQChar)
        // A `~` at the beginning would be a home directory to a shell.
        case .env: !token.isEmpty && token.allSatisfy(\.isUsualInToken) && token.first != UInt8(ascii: "~")
        }
    }

    /// The authentication scheme for a token of `type`.
    ///
    /// Token types are case-insensitive (RFC 6749 §5.1), some servers' schemes are not.
    ///
    /// - Parameter type: as the server wrote it; `nil`: it wrote none.
    /// - Returns: `Bearer`, `DPoP`, or another word as it is.
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
    /// A letter, a digit or another character that tokens are usually made of (RFC 6750 §2.1, `b64token`): all readers
    /// of one-line formats take it for itself.
    package var isUsualInToken: Bool { isUnreserved || "+/=".utf8.contains(self) }
}
