// SPDX-License-Identifier: MIT

import Text

/// The scopes in a server's text, reduced to those that are allowed in a URL.
enum ScopeValidator {
    /// The maximum numbers of scopes and of bytes of all together: more than any server has, but not more
    /// than servers accept.
    private static let maximumWords = 64
    private static let maximumBytes = 2_000

    /// Returns the scopes without duplicates, in their order.
    ///
    /// - Returns: The scopes, or `nil` if one is malformed (RFC 6749 §3.3) or there are too many.
    static func checked(_ words: [String]) -> [String]? {
        guard words.count <= maximumWords, words.reduce(0, { $0 + $1.utf8.count + 1 }) <= maximumBytes,
            words.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isNQChar) })
        else { return nil }
        var seen: Set<ByteText> = []
        return words.filter { seen.insert($0.bytewise).inserted }
    }

    /// Returns ``checked(_:)`` of scopes separated by blanks.
    static func checked(_ text: String) -> [String]? {
        guard text.utf8.count <= maximumBytes else { return nil }
        return checked(text.bytewise.split(on: " ").map(String.init))
    }
}
