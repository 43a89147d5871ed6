// SPDX-License-Identifier: MIT

/// The line that begins a section, compared by what it names: `[profile "a"]` and `[ profile a ] # mine` are the same.
struct SectionHeader: Equatable {
    /// What is between the brackets, without quotes and the blanks around words.
    private let words: [[UInt8]]

    /// Nil if the line begins no section.
    init?(_ line: some StringProtocol) {
        let bytes = line.utf8.drop { SectionHeader.isBlank($0) }
        guard bytes.first == UInt8(ascii: "[") else { return nil }
        var words: [[UInt8]] = [[]]
        var quote: UInt8?
        for byte in bytes.dropFirst() {
            if byte == quote {
                quote = nil
            } else if quote == nil, "\"'".utf8.contains(byte) {
                quote = byte
            } else if quote == nil, byte == UInt8(ascii: "]") {
                self.words = words.filter { !$0.isEmpty }
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
