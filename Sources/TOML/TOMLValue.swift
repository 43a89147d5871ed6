// SPDX-License-Identifier: MIT

import Text

/// A value of a TOML text and the place of its key, so that a later objection can name the line.
package struct TOMLValue: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        case string(String)
        case integer(Int64)
        case float(Double)
        case boolean(Bool)
        /// A date, a time or both: no key of ours takes one.
        case dateTime
        case array([TOMLValue])
        case table(TOMLTable)
    }

    package let content: Content
    /// Where the key it belongs to was written.
    package let position: TOMLPosition

    init(_ content: Content, at position: TOMLPosition) {
        self.content = content
        self.position = position
    }

    /// What kind of value this is, with its article: "a string".
    package var kind: String {
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
package struct TOMLTable: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let key: String
        /// Where the key was first written.
        package let position: TOMLPosition
        package let value: TOMLValue
    }

    package let entries: [Entry]

    /// The value of `key` in this table.
    package subscript(key: String) -> TOMLValue? {
        // Compares bytes, as ``ByteText`` does, and lengths first: a start does this 100,000 times.
        let wanted = key.utf8
        return entries.first { $0.key.utf8.count == wanted.count && $0.key.utf8.elementsEqual(wanted) }?.value
    }
}
