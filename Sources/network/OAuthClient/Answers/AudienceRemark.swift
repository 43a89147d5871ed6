// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

extension ServerProfile {
    /// Returns a warning if the access token does not name a requested audience (RFC 8707 §2).
    ///
    /// Servers may ignore `audience` and `resource`, and then issue a token that the resource rejects. Only a
    /// JWT shows its audiences (RFC 9068 §3). A JWT without audiences causes no warning.
    ///
    /// - Parameters:
    ///   - answer: The response with the access token, whose signature is not verified.
    ///   - asked: The audience requested with this token, or `nil` for the audience and resources of the
    ///     configuration.
    /// - Returns: The warning, or `nil` if all requested audiences are named or the token does not show any.
    func audienceRemark(on answer: TokenResponse, asked: String?) -> GrantWarning? {
        let wanted = asked.map { [$0] } ?? [audience].compactMap(\.self) + resources
        guard !wanted.isEmpty, let given = JWTParts(answer.accessToken)?.claims.audiences, !given.isEmpty
        else { return nil }
        let missing = wanted.filter { wanted in !given.contains { Self.isSame($0.text, wanted) } }
        guard !missing.isEmpty else { return nil }
        let asked = missing.joined(separator: " and ")
        let shown = given.prefix(3).map { ServerText.cleaned($0.text, limit: 100) }.joined(separator: " and ")
        return GrantWarning(
            .audienceIgnored,
            "the server ignored the audience \(asked): the token is for \(shown)"
        )
    }

    /// Compares two addresses, ignoring a slash at the end, which users write or leave out.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        func bare(_ text: String) -> Substring.UTF8View {
            let bytes = text.utf8[...]
            return bytes.last == UInt8(ascii: "/") ? bytes.dropLast() : bytes
        }
        return bare(left).elementsEqual(bare(right))
    }
}
