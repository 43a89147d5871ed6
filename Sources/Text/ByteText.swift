// SPDX-License-Identifier: MIT

/// Text that somebody else wrote, compared, hashed, split and folded as the UTF-8 bytes it came in.
///
/// `String` calls texts equal that Unicode calls equivalent. To find out, `==`, `hash` and everything that
/// builds on `Character` normalise them, which for some input takes time that grows with the square of the
/// length. Two readers of one text could also see different names in it. So everything that a server, a peer
/// or a file says is examined through this type:
///
/// ```swift
/// switch code.bytewise { case "invalid_grant": … }
/// let known: Set<ByteText> = ["access_token_expired"]
/// ```
///
/// Every operation takes time in proportion to the bytes it looks at.
package struct ByteText: Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package init(_ text: some StringProtocol) {
        self.text = String(text)
    }

    /// The bytes.
    package var utf8: String.UTF8View { text.utf8 }

    /// The text with `A` to `Z` in lower case; everything else stays, even the KELVIN SIGN.
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

    /// Whether the text contains `part`, a short text of our own.
    package func contains(_ part: ByteText) -> Bool {
        guard let first = part.utf8.first else { return true }
        var rest = utf8[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: part.utf8) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// The pieces between the bytes `separator`; as that is ASCII, every piece is valid UTF-8.
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
        // UTF-8 never holds 0xFF, so no hashed text is the beginning of another one.
        hasher.combine(0xFF as UInt8)
    }
}

extension ByteText: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral value: String) { text = value }

    package var description: String { text }
}

/// The mark that some programs write before UTF-8, where it says nothing (RFC 8259 §8.1).
package enum ByteOrderMark {
    package static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// `text` without the mark.
    package static func dropped(from text: [UInt8]) -> ArraySlice<UInt8> {
        text.starts(with: bytes) ? text.dropFirst(bytes.count) : text[...]
    }
}

extension String {
    /// The text as its bytes, to examine text that is not our own.
    package var bytewise: ByteText { ByteText(self) }
}

extension StringProtocol {
    /// The text, which may be part of another one, as its bytes.
    package var bytewise: ByteText { ByteText(self) }
}

extension RawRepresentable where Self: CaseIterable, RawValue == String {
    /// The case whose word has these bytes; `init(rawValue:)` compares as Unicode does.
    package init?(word: String) {
        guard let found = Self.allCases.first(where: { $0.rawValue.bytewise == word.bytewise }) else {
            return nil
        }
        self = found
    }
}
