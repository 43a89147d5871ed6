// SPDX-License-Identifier: MIT

/// Text from outside, compared, hashed, split and case-folded by its UTF-8 bytes.
///
/// `String` compares by Unicode equivalence. For that, `==`, `hash` and everything built on `Character`
/// normalize the text, which for some input takes time quadratic in its length. Two readers of one text could
/// also see different names in it. So all text from servers, peers and files is examined through this type:
///
/// ```swift
/// switch code.bytewise { case "invalid_grant": … }
/// let known: Set<ByteText> = ["access_token_expired"]
/// ```
///
/// - Complexity: every operation is linear in the bytes it examines, except ``contains(_:)`` and ``parts(around:)``.
/// - Entry points of the module: ``ByteText``, ``JSONValue``, ``HTTPSyntax``, ``Base64``, ``Hex``.
/// - May not: compare text from outside as `String` does.
package struct ByteText: Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package init(_ text: some StringProtocol) {
        self.text = String(text)
    }

    package var utf8: String.UTF8View { text.utf8 }

    /// The text with `A` to `Z` in lower case and everything else unchanged, even the KELVIN SIGN.
    package var lowercased: ByteText {
        guard utf8.contains(where: { $0 != $0.lowercasedASCII }) else { return self }
        return ByteText(String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self))
    }

    package func hasPrefix(_ start: ByteText) -> Bool {
        utf8.starts(with: start.utf8)
    }

    package func hasSuffix(_ end: ByteText) -> Bool {
        utf8.reversed().starts(with: end.utf8.reversed())
    }

    /// Returns whether the text contains `part`.
    ///
    /// `part` should be a short constant: the time grows with the product of both lengths.
    package func contains(_ part: ByteText) -> Bool { part.utf8.isEmpty || parts(around: part) != nil }

    /// Returns what precedes and follows the first occurrence of `part`, which is not empty, or `nil` if there is none.
    ///
    /// `part` should be a short constant: the time grows with the product of both lengths.
    package func parts(around part: ByteText) -> (before: Substring, after: Substring)? {
        guard let first = part.utf8.first else { return nil }
        var rest = utf8[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: part.utf8) {
                return (Substring(utf8[..<start]), Substring(rest.dropFirst(part.utf8.count)))
            }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Returns the parts between occurrences of `separator`, an ASCII character, so every part is valid
    /// UTF-8.
    package func split(
        on separator: Unicode.Scalar,
        maxSplits: Int = .max,
        omittingEmpty: Bool = true
    ) -> [Substring] {
        utf8.split(
            separator: UInt8(ascii: separator),
            maxSplits: maxSplits,
            omittingEmptySubsequences: omittingEmpty
        )
        .map(Substring.init)
    }
}

extension ByteText: Hashable {
    package static func == (left: ByteText, right: ByteText) -> Bool {
        left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // UTF-8 never contains 0xFF, so no hashed text is a prefix of another.
        hasher.combine(0xFF as UInt8)
    }
}

extension ByteText: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral value: String) { text = value }

    package var description: String { text }
}

/// The byte-order mark that some programs write before UTF-8, where it has no meaning (RFC 8259 §8.1).
package enum ByteOrderMark {
    package static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Returns `text` without a leading byte-order mark.
    package static func dropped(from text: [UInt8]) -> ArraySlice<UInt8> {
        text.starts(with: bytes) ? text.dropFirst(bytes.count) : text[...]
    }
}

extension String {
    /// The text compared by its bytes, for text from outside.
    package var bytewise: ByteText { ByteText(self) }
}

extension StringProtocol {
    /// The text compared by its bytes; a substring is copied.
    package var bytewise: ByteText { ByteText(self) }
}

extension RawRepresentable where Self: CaseIterable, RawValue == String {
    /// Creates the case whose raw value has the same bytes as `word`; `init(rawValue:)` would compare as
    /// Unicode does.
    package init?(word: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue.bytewise == word.bytewise }) else {
            return nil
        }
        self = found
    }
}
