// SPDX-License-Identifier: MIT

import Text

/// A value of a TOML text, with the position of its key so that errors can name the line.
package struct TOMLValue: Equatable, Sendable {
    /// The content of a value, by its TOML type.
    package enum Content: Equatable, Sendable {
        case string(String)
        case integer(Int64)
        case float(Double)
        case boolean(Bool)
        /// A date, a time or both, as it is written; no configuration key accepts one.
        case dateTime(String)
        case array([TOMLValue])
        case table(TOMLTable)
    }

    package let content: Content
    /// The position of the value's key; for an element of an array, of the element.
    package let position: TOMLPosition

    package init(_ content: Content, at position: TOMLPosition) {
        self.content = content
        self.position = position
    }

    /// The kind of value with its article, as in "a string".
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

/// The entries of a TOML table in the order of the text.
package struct TOMLTable: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let key: String
        /// The position at which the key was first written.
        package let position: TOMLPosition
        package let value: TOMLValue

        package init(key: String, position: TOMLPosition, value: TOMLValue) {
            self.key = key
            self.position = position
            self.value = value
        }
    }

    package let entries: [Entry]

    package init(entries: [Entry]) {
        self.entries = entries
    }

    /// The value of `key`, or `nil` if the table does not contain it.
    package subscript(key: String) -> TOMLValue? {
        // Compare bytes, as ``ByteText`` does, and lengths first: a start does this 100,000 times.
        let wanted = key.utf8
        return entries.first { $0.key.utf8.count == wanted.count && $0.key.utf8.elementsEqual(wanted) }?.value
    }
}

extension TOMLTable {
    /// The table as a JSON object.
    package var json: JSONObject {
        entries.reduce(into: JSONObject()) { $0[$1.key] = $1.value.json }
    }
}

extension TOMLValue {
    /// The value in JSON, without its position; a date, a time, `inf` and `nan` are strings.
    package var json: JSONValue {
        switch content {
        case .string(let text): .string(text)
        case .integer(let number): .integer(number)
        case .float(let number): number.isFinite ? .number("\(number)") : .string("\(number)")
        case .boolean(let value): .bool(value)
        case .dateTime(let text): .string(text)
        case .array(let elements): .array(elements.map(\.json))
        case .table(let table): .object(table.json)
        }
    }
}
