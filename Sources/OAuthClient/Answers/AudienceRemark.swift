// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension ServerProfile {
    /// A remark if the access token does not name an audience that was asked for (RFC 8707 §2).
    ///
    /// Servers may ignore `audience` and `resource`, and then give a token that the resource refuses. Only a
    /// JWT shows its audiences (RFC 9068 §3); one that names none says nothing.
    ///
    /// - Parameters:
    ///   - answer: its access token is looked at, unverified.
    ///   - asked: the audience asked for with this token; `nil`: what the configuration asks for.
    /// - Returns: the remark; `nil`: there is nothing to say.
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

    /// Compares two addresses, but for a slash at the end, which people write or leave out.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        func bare(_ text: String) -> Substring.UTF8View {
            let bytes = text.utf8[...]
            return bytes.last == UInt8(ascii: "/") ? bytes.dropLast() : bytes
        }
        return bare(left).elementsEqual(bare(right))
    }
}
