// SPDX-License-Identifier: MIT

import Text

/// A value of a TOML text and the place of its key, so that a later objection can name the line.
struct TOMLValue: Equatable, Sendable {
    enum Content: Equatable, Sendable {
        case string(String)
        case integer(Int64)
        case float(Double)
        case boolean(Bool)
        /// A date, a time or both: no key of ours takes one.
        case dateTime
        case array([TOMLValue])
        case table(TOMLTable)
    }

    let content: Content
    /// Where the key it belongs to was written.
    let position: TOMLPosition

    init(_ content: Content, at position: TOMLPosition) {
        self.content = content
        self.position = position
    }

    /// What kind of value this is, with its article: "a string".
    var kind: String {
        switch content {
        case .string: "a string"
        case .integer: "an integer"
        case .float: "a float"
        case .boolean: "a boolean"
        case .dateTime: "a date or time"
        case .array: "an array"
        case .table: "a table"
        }
    }
}

/// The keys of a TOML table in the order they were written, each with its position.
struct TOMLTable: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        let key: String
        /// Where the key was first written.
        let position: TOMLPosition
        let value: TOMLValue
    }

    let entries: [Entry]
    /// What rules most keys out, one for each entry, side by side.
    private let marks: [KeyMark]

    init(_ entries: [Entry]) {
        self.entries = entries
        marks = entries.map { KeyMark($0.key) }
    }

    /// The value of `key` in this table.
    subscript(key: String) -> TOMLValue? { index(of: key).map { entries[$0].value } }

    /// Where `key` stands among the entries.
    func index(of key: String) -> Int? {
        // Bytes decide, as in ``ByteText``. A start does this a million times, mostly for keys that are not written.
        let wanted = KeyMark(key)
        return marks.indices.first { marks[$0] == wanted && entries[$0].key.utf8.elementsEqual(key.utf8) }
    }
}

/// The length of a key, and its first and last byte.
private struct KeyMark: Equatable, Sendable {
    private let word: UInt32

    init(_ key: String) {
        let bytes = key.utf8
        let length = UInt32(truncatingIfNeeded: bytes.count)
        word = length << 16 | UInt32(bytes.first ?? 0) << 8 | UInt32(bytes.last ?? 0)
    }
}
