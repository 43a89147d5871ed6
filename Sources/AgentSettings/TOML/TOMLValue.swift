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

    /// The value of `key` in this table.
    subscript(key: String) -> TOMLValue? {
        // Compares bytes, as ``ByteText`` does, and lengths first: a start does this 100,000 times.
        let wanted = key.utf8
        return entries.first { $0.key.utf8.count == wanted.count && $0.key.utf8.elementsEqual(wanted) }?.value
    }
}
