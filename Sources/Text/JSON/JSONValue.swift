// SPDX-License-Identifier: MIT

/// A JSON text as a value (RFC 8259).
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// The number as written, so that nothing is lost before the reader decides what it accepts.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The string, if this is one.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The truth value, if this is one.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, if this is an array.
    package var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members, if this is an object.
    package var object: JSONObject? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The number, if it is written as an integer that fits into 64 bits.
    package var integer: Int64? {
        guard case .number(let literal) = self else { return nil }
        return Int64(literal)
    }

    /// The number as the nearest double, if this is one; infinite when it is out of range.
    package var double: Double? {
        guard case .number(let literal) = self else { return nil }
        return Double(literal)
    }

    /// The number as written, if this is one.
    package var literal: String? {
        guard case .number(let literal) = self else { return nil }
        return literal
    }

    package static func integer(_ value: some BinaryInteger) -> JSONValue {
        .number(String(value))
    }

    /// An array of strings.
    package static func strings(_ values: some Sequence<String>) -> JSONValue {
        .array(values.map(JSONValue.string))
    }
}

extension JSONValue: Equatable {
    /// Strings are the same if their bytes are, numbers if they are written alike.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.bytewise == right.bytewise
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(members: elements.map { JSONObject.Member(name: $0.0, value: $0.1) }))
    }
}
