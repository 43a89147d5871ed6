// SPDX-License-Identifier: MIT

import Text

/// Parsing of request targets (RFC 3986 §3.3, §3.4).
enum RequestTargetParser {
    /// Returns the decoded segments of an absolute path, or `nil` if one cannot be decoded.
    static func segments(of path: Substring) -> [ByteText]? {
        var segments: [ByteText] = []
        for part in Substring(path.utf8.dropFirst()).bytewise.split(on: "/", omittingEmpty: false) {
            guard let text = PercentCoding.decoded(part.utf8, plusIsBlank: false), !endsEarly(text) else {
                return nil
            }
            segments.append(text.bytewise)
        }
        // A trailing slash does not change the meaning.
        if segments.count > 1, segments.last == "" { segments.removeLast() }
        return segments
    }

    /// Returns the decoded parameters of a query in order, or `nil` if one cannot be decoded.
    static func parameters(of query: some StringProtocol) -> [(name: ByteText, value: String)]? {
        guard let parameters = FormEncoding.decoded(query),
            parameters.allSatisfy({ !endsEarly($0.name) && !endsEarly($0.value) })
        else { return nil }
        return parameters.map { ($0.name.bytewise, $0.value) }
    }

    /// Returns whether `text` contains a zero byte, at which some readers would end the text.
    private static func endsEarly(_ text: String) -> Bool {
        text.utf8.contains(0)
    }
}
