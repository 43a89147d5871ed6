// SPDX-License-Identifier: MIT

import Text

/// A member of a message: its name on the socket, and the type of its value.
package struct WireMember<Value: WireValue>: Sendable {
    package let name: String
    package let unit: WireNumberUnit
    /// Whether the member may be missing.
    package let isOptional: Bool

    init(_ name: String, _ unit: WireNumberUnit = .none, isOptional: Bool = false) {
        self.name = name
        self.unit = unit
        self.isOptional = isOptional
    }
}

/// The unit of a number.
package enum WireNumberUnit: Sendable {
    case none
    /// Whole seconds since 1970, UTC.
    case time
    /// Whole seconds.
    case seconds
}

/// A member of any type.
package protocol AnyWireMember: Sendable {
    var name: String { get }
    /// The type as `tokenagent-protocol(7)` writes it, such as `time ?`.
    var typeShown: String { get }
}

extension WireMember: AnyWireMember {
    package var typeShown: String {
        let type =
            switch unit {
            case .none: Value.wireType
            case .time: "time"
            case .seconds: "seconds"
            }
        return isOptional ? "\(type) ?" : type
    }
}

/// A type of a member's value.
package protocol WireValue: Sendable {
    /// The type as `tokenagent-protocol(7)` writes it.
    static var wireType: String { get }
    /// The accepted value in words for the user, such as "a string".
    static var expectation: String { get }

    /// Parses the value, or returns `nil` if the JSON is of another type.
    init?(_ json: JSONValue)
    var json: JSONValue { get }
}

extension String: WireValue {
    package static var wireType: String { "text" }
    package static var expectation: String { "a string" }

    package init?(_ json: JSONValue) {
        guard let text = json.string else { return nil }
        self = text
    }

    package var json: JSONValue { .string(self) }
}

extension Bool: WireValue {
    package static var wireType: String { "boolean" }
    package static var expectation: String { "true or false" }

    package init?(_ json: JSONValue) {
        guard let bool = json.bool else { return nil }
        self = bool
    }

    package var json: JSONValue { .bool(self) }
}

extension Int64: WireValue {
    package static var wireType: String { "number" }
    package static var expectation: String { "a whole number" }

    package init?(_ json: JSONValue) {
        guard let integer = json.integer else { return nil }
        self = integer
    }

    package var json: JSONValue { .integer(self) }
}

extension Array: WireValue where Element: WireValue {
    package static var wireType: String { "list" }
    package static var expectation: String {
        Element.self == String.self ? "an array of strings" : "an array"
    }

    package init?(_ json: JSONValue) {
        guard let elements = json.array else { return nil }
        let values = elements.compactMap(Element.init(_:))
        guard values.count == elements.count else { return nil }
        self = values
    }

    package var json: JSONValue { .array(map(\.json)) }
}

/// An object whose member names are not part of the protocol.
extension JSONObject: WireValue {
    package static var wireType: String { "object" }
    package static var expectation: String { "an object" }

    package init?(_ json: JSONValue) {
        guard let object = json.object else { return nil }
        self = object
    }

    package var json: JSONValue { .object(self) }
}

extension WireValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    package static var wireType: String { String.wireType }
    package static var expectation: String { "one of " + allCases.map(\.rawValue).joined(separator: ", ") }

    package init?(_ json: JSONValue) {
        guard let value = json.string.flatMap(Self.init(word:)) else { return nil }
        self = value
    }

    package var json: JSONValue { .string(rawValue) }
}
