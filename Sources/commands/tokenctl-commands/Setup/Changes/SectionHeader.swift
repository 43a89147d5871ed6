// SPDX-License-Identifier: MIT

import Text

/// A line that begins a section, compared by its words: `[profile "a"]` and `[ profile a ] # mine` are equal.
struct SectionHeader: Equatable {
    /// The words between the brackets, without quotes.
    private let words: [[UInt8]]
    /// The text after the brackets: a comment or a key.
    let rest: String

    static func == (left: SectionHeader, right: SectionHeader) -> Bool { left.words == right.words }

    /// Returns the only word after `kind`, such as the server in `[credential "https://git.example.com"]`, or
    /// `nil`.
    ///
    /// The case of `kind` is ignored.
    func subject(of kind: String) -> String? {
        guard words.count == 2, words[0].elementsEqual(kind.utf8, by: { $0.lowercasedASCII == $1 }) else {
            return nil
        }
        return String(decoding: words[1], as: UTF8.self)
    }

    /// Parses `line`, or returns `nil` if it does not begin a section.
    init?(_ line: some StringProtocol) {
        let bytes = line.utf8.drop { SectionHeader.isBlank($0) }
        guard bytes.first == UInt8(ascii: "[") else { return nil }
        var words: [[UInt8]] = [[]]
        var quote: UInt8?
        for (index, byte) in zip(bytes.indices, bytes).dropFirst() {
            if byte == quote {
                quote = nil
            } else if quote == nil, "\"'".utf8.contains(byte) {
                quote = byte
            } else if quote == nil, byte == UInt8(ascii: "]") {
                self.words = words.filter { !$0.isEmpty }
                rest = String(decoding: bytes[index...].dropFirst(), as: UTF8.self)
                return
            } else if quote == nil, SectionHeader.isBlank(byte) {
                words.append([])
            } else {
                words[words.count - 1].append(byte)
            }
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
