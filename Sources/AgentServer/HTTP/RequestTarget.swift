// SPDX-License-Identifier: MIT

import Text

/// Takes request targets apart (RFC 3986 §3.3, §3.4).
enum RequestTarget {
    /// The decoded segments of an absolute path; `nil` when one cannot be decoded.
    static func segments(of path: Substring) -> [ByteText]? {
        var segments: [ByteText] = []
        for part in Substring(path.utf8.dropFirst()).bytewise.split(on: "/", omittingEmpty: false) {
            guard let text = PercentCoding.decoded(part.utf8, plusIsBlank: false), !endsEarly(text) else {
                return nil
            }
            segments.append(text.bytewise)
        }
        // One slash at the end names the same thing.
        if segments.count > 1, segments.last == "" { segments.removeLast() }
        return segments
    }

    /// The decoded parameters of a query, in their order; `nil` when one cannot be decoded.
    static func parameters(of query: some StringProtocol) -> [(name: ByteText, value: String)]? {
        guard let parameters = FormEncoding.decoded(query),
            parameters.allSatisfy({ !endsEarly($0.name) && !endsEarly($0.value) })
        else { return nil }
        return parameters.map { ($0.name.bytewise, $0.value) }
    }

    /// Whether `text` holds a zero byte, which ends a text for some readers.
    private static func endsEarly(_ text: String) -> Bool {
        text.utf8.contains(0)
    }
}
