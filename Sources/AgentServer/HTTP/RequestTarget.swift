// SPDX-License-Identifier: MIT

import Text

/// Takes request targets apart (RFC 3986 §3.3, §3.4).
enum RequestTarget {
    /// The decoded segments of an absolute path; `nil` when one cannot be decoded.
    static func segments(of path: Substring) -> [ByteText]? {
        var segments: [ByteText] = []
        for part in Substring(path.utf8.dropFirst()).bytewise.split(on: "/", omittingEmpty: false) {
            guard let text = decoded(part, plusIsBlank: false) else { return nil }
            segments.append(text.bytewise)
        }
        // One slash at the end names the same thing.
        if segments.count > 1, segments.last == "" { segments.removeLast() }
        return segments
    }

    /// The decoded parameters of a query, in their order; `nil` when one cannot be decoded.
    static func parameters(of query: some StringProtocol) -> [(name: ByteText, value: String)]? {
        var parameters: [(name: ByteText, value: String)] = []
        for part in query.bytewise.split(on: "&") {
            let pieces = part.bytewise.split(on: "=", maxSplits: 1, omittingEmpty: false)
            guard let name = decoded(pieces[0], plusIsBlank: true),
                let value = decoded(pieces.count > 1 ? pieces[1] : "", plusIsBlank: true)
            else { return nil }
            parameters.append((name.bytewise, value))
        }
        return parameters
    }

    /// The text; `nil` also where a byte of it is zero, which ends a text for some readers.
    private static func decoded(_ text: Substring, plusIsBlank: Bool) -> String? {
        guard let decoded = PercentCoding.decoded(text.utf8, plusIsBlank: plusIsBlank),
            !decoded.utf8.contains(0)
        else { return nil }
        return decoded
    }
}
