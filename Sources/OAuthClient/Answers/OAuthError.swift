// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The error an authorization server reported (RFC 6749 §5.2, §4.1.2.1).
struct OAuthError: Equatable, Sendable {
    /// As on the wire, printable, at most 100 characters.
    var code: String
    var description: String?
    /// Vendors' second code (`suberror`, `error_subtype`) that says why a grant died.
    var detail: String?

    init(code: String, description: String? = nil, detail: String? = nil) {
        self.code = ServerText.cleaned(code, limit: 100)
        self.description = description.map { ServerText.cleaned($0, limit: 300) }
        self.detail = detail.map { ServerText.cleaned($0, limit: 100) }
    }

    /// The error in an answer, or `nil` when its `error` is missing, empty or not a string.
    init?(_ object: JSONObject) {
        guard let code = object["error"]?.string, !code.isEmpty else { return nil }
        self.init(
            code: code,
            description: object["error_description"]?.string,
            detail: (object["suberror"] ?? object["error_subtype"])?.string
        )
    }

    /// "invalid_grant: Token is not active".
    var text: String {
        guard let description, !description.isEmpty else { return code }
        return "\(code): \(description)"
    }
}
