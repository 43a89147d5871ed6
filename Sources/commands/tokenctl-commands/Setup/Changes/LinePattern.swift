// SPDX-License-Identifier: MIT

/// A pattern for lines of one kind, with `*` for any text.
struct LinePattern: ExpressibleByStringLiteral, Sendable {
    private static let wildcard = UInt8(ascii: "*")

    private let bytes: [UInt8]

    init(stringLiteral text: String) { bytes = Array(text.utf8) }

    /// Returns whether the pattern matches all of `line`.
    func matches(_ line: String) -> Bool {
        let line = Array(line.utf8)
        var (index, place) = (0, 0)
        // The index after the last wildcard, and the end of the text that it matches.
        var resumed: (index: Int, place: Int)?
        while place < line.count {
            if index < bytes.count, bytes[index] == LinePattern.wildcard {
                index += 1
                resumed = (index, place)
            } else if index < bytes.count, bytes[index] == line[place] {
                index += 1
                place += 1
            } else if let (next, end) = resumed {
                (index, place) = (next, end + 1)
                resumed = (next, end + 1)
            } else {
                return false
            }
        }
        return bytes[index...].allSatisfy { $0 == LinePattern.wildcard }
    }
}
