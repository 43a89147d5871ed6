// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The error reported by an authorization server (RFC 6749 §5.2, §4.1.2.1).
struct ReportedOAuthError: Equatable, Sendable {
    /// The code sent by the server, made printable and limited to 100 characters.
    var code: String
    var description: String?
    /// A vendor's second code (`suberror`, `error_subtype`) with the reason that a grant is invalid.
    var detail: String?

    init(code: String, description: String? = nil, detail: String? = nil) {
        self.code = ServerText.cleaned(code, limit: 100)
        self.description = description.map { ServerText.cleaned($0, limit: 300) }
        self.detail = detail.map { ServerText.cleaned($0, limit: 100) }
    }

    /// The codes of RFC 6749 §5.2.
    private static let standard: Set<ByteText> = [
        "invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "unauthorized_client",
        "unsupported_grant_type",
    ]

    /// Whether the code is one of RFC 6749 §5.2.
    var isStandard: Bool { ReportedOAuthError.standard.contains(code.bytewise) }

    /// The codes of RFC 8628 §3.5 that servers also write where a sentence for users belongs.
    private static let misplaced: Set<ByteText> = ["authorization_pending", "slow_down"]

    /// Reads the error in a response, or returns `nil` if its `error` is missing, empty or not a string.
    init?(_ object: JSONObject) {
        if let word = ReportedOAuthError.reasons(in: object).first(where: {
            ReportedOAuthError.misplaced.contains($0.bytewise)
        }),
            object["access_token"] == nil
        {
            self.init(code: word)
            return
        }
        guard let code = object["error"]?.string, !code.isEmpty else { return nil }
        self.init(
            code: code,
            description: object["error_description"]?.string,
            detail: (object["suberror"] ?? object["error_subtype"])?.string
        )
    }

    /// Returns the reason in a rejection that is not in OAuth's format, or `nil` if there is none.
    static func words(in object: JSONObject) -> String? {
        let words = reasons(in: object).prefix(3).map { ServerText.cleaned($0, limit: 150) }
        return words.isEmpty ? nil : words.joined(separator: ": ")
    }

    /// Returns whether a body without tokens names an error in another format than OAuth's: an object or a
    /// list.
    static func isNamed(
        in object: JSONObject,
        besides names: TokenResponseFormat.MemberNames = TokenResponseFormat.MemberNames()
    ) -> Bool {
        guard [names.accessToken, names.refreshToken].allSatisfy({ object[$0] == nil }) else { return false }
        return containers.contains { name in
            object[name].map { $0.object?.members.isEmpty == false || $0.array?.isEmpty == false } ?? false
        }
    }

    /// The members that hold a reason, with the more specific ones first (RFC 9457 §3.1 among them).
    private static let reasonMembers = [
        "code", "status", "message", "error_description", "detail", "title", "msg",
    ]
    /// The members that hold objects or texts with reasons.
    private static let containers = ["error", "errors"]
    /// The maximum number of reasons read, because a server may send any number.
    private static let maximumReasons = 8

    /// Returns the texts in `object` that explain the rejection, without duplicates.
    private static func reasons(in object: JSONObject) -> [String] {
        // A `detail` that is a text comes after the more specific members.
        let details = object["detail"].flatMap { $0.string == nil ? $0 : nil }
        let contained = (containers.map { object[$0] } + [details]).compactMap(\.self)
            .flatMap { value in value.array?.prefix(maximumReasons).map(\.self) ?? [value] }
        var reasons: [String] = []
        for value in contained + [.object(object)] {
            let texts = value.object.map { object in reasonMembers.compactMap { object[$0]?.string } }
            for text in texts ?? [value.string].compactMap(\.self)
            where !text.utf8.isEmpty && !reasons.contains(where: { $0.bytewise == text.bytewise }) {
                reasons.append(text)
            }
            if reasons.count >= maximumReasons { break }
        }
        return reasons
    }

    /// The code and the description, such as "invalid_grant: Token is not active".
    var text: String {
        guard let description, !description.isEmpty else { return code }
        return "\(code): \(description)"
    }
}
