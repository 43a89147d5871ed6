// SPDX-License-Identifier: MIT

/// A JSON value (RFC 8259).
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// A number as written, so that no precision is lost before the reader decides what it accepts.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The string, or `nil` if this is another kind of value.
    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The Boolean, or `nil` if this is another kind of value.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements, or `nil` if this is not an array.
    package var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members, or `nil` if this is not an object.
    package var object: JSONObject? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The number, or `nil` if it is not written as an integer that fits into 64 bits.
    package var integer: Int64? {
        guard case .number(let literal) = self else { return nil }
        return Int64(literal)
    }

    /// The number as the nearest double, infinite if out of range, or `nil` if this is another kind of value.
    package var double: Double? {
        guard case .number(let literal) = self else { return nil }
        return Double(literal)
    }

    /// The number as written, or `nil` if this is another kind of value.
    package var literal: String? {
        guard case .number(let literal) = self else { return nil }
        return literal
    }

    package static func integer(_ value: some BinaryInteger) -> JSONValue {
        .number(String(value))
    }

    /// Returns an array of strings.
    package static func strings(_ values: some Sequence<String>) -> JSONValue {
        .array(values.map(JSONValue.string))
    }
}

extension JSONValue: Equatable {
    /// Returns whether both values are equal: strings compare by bytes, numbers as written.
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
