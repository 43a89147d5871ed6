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

    /// Codes of RFC 8628 §3.5 that servers also write where a sentence for people belongs.
    private static let misplaced: Set<ByteText> = ["authorization_pending", "slow_down"]

    /// The error in an answer, or `nil` when its `error` is missing, empty or not a string.
    init?(_ object: JSONObject) {
        if let word = OAuthError.reasons(in: object).first(where: {
            OAuthError.misplaced.contains($0.bytewise)
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

    /// What a refusal that is not OAuth's says of its reason, or `nil` if it says nothing.
    static func words(in object: JSONObject) -> String? {
        let words = reasons(in: object).prefix(3).map { ServerText.cleaned($0, limit: 150) }
        return words.isEmpty ? nil : words.joined(separator: ": ")
    }

    /// Returns `true` if a body without tokens names an error that is not OAuth's: an object, or a list of them.
    static func isNamed(in object: JSONObject) -> Bool {
        guard ["access_token", "refresh_token"].allSatisfy({ object[$0] == nil }) else { return false }
        return containers.contains { name in
            object[name].map { $0.object?.members.isEmpty == false || $0.array?.isEmpty == false } ?? false
        }
    }

    /// Members that hold a reason, the more specific first (RFC 9457 §3.1 among them).
    private static let reasonMembers = [
        "code", "status", "message", "error_description", "detail", "title", "msg",
    ]
    /// Members that hold objects or texts with reasons.
    private static let containers = ["error", "errors"]
    /// Reasons that are looked for: a server may send any number.
    private static let mostReasons = 8

    /// The texts in `object` that say why it is a refusal, each once.
    private static func reasons(in object: JSONObject) -> [String] {
        // A detail that is a text comes after the members that are more specific.
        let details = object["detail"].flatMap { $0.string == nil ? $0 : nil }
        let contained = (containers.map { object[$0] } + [details]).compactMap(\.self)
            .flatMap { value in value.array?.prefix(mostReasons).map(\.self) ?? [value] }
        var reasons: [String] = []
        for value in contained + [.object(object)] {
            let texts = value.object.map { object in reasonMembers.compactMap { object[$0]?.string } }
            for text in texts ?? [value.string].compactMap(\.self)
            where !text.utf8.isEmpty && !reasons.contains(where: { $0.bytewise == text.bytewise }) {
                reasons.append(text)
            }
            if reasons.count >= mostReasons { break }
        }
        return reasons
    }

    /// "invalid_grant: Token is not active".
    var text: String {
        guard let description, !description.isEmpty else { return code }
        return "\(code): \(description)"
    }
}
