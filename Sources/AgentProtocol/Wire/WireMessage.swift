// SPDX-License-Identifier: MIT

import Text

/// The members of one kind of message: each property is a ``WireMember``, in the order of
/// `tokenagent-protocol(7)`.
package protocol WireMemberTable: Sendable {
    /// The only value of this type.
    static var table: Self { get }
}

extension WireMemberTable {
    /// All members in their order.
    package static var all: [any AnyWireMember] {
        Mirror(reflecting: table).children.compactMap { $0.value as? any AnyWireMember }
    }
}

/// A JSON object on the socket, whose members are those of `Members`.
///
/// ```swift
/// var message = LogoutMessage()
/// message.told = .revoked
/// ```
///
/// A member that is missing, or has the wrong type, reads as `nil`. Unknown members are kept, so that the
/// message of a later agent can be passed on.
@dynamicMemberLookup
package struct WireMessage<Members: WireMemberTable>: Equatable, Sendable {
    fileprivate var object: JSONObject

    package init(_ object: JSONObject = JSONObject()) {
        self.object = object
    }

    /// Parses a JSON text, or returns `nil` if it is not an object.
    package init?(parsing bytes: some Sequence<UInt8>) {
        guard let json = try? JSONValue(parsing: bytes) else { return nil }
        self.init(json)
    }

    /// Creates a message of another kind with the same members.
    package init(_ other: WireMessage<some WireMemberTable>) {
        self.init(other.object)
    }

    /// Creates a message with the members that `fill` sets.
    package init(_ fill: (inout Self) -> Void) {
        self.init()
        fill(&self)
    }

    package subscript<Value>(dynamicMember member: KeyPath<Members, WireMember<Value>>) -> Value? {
        get { object[Members.table[keyPath: member].name].flatMap { Value($0) } }
        set { object[Members.table[keyPath: member].name] = newValue?.json }
    }

    /// Returns a message with these members, followed by those of `other`.
    package func followed(by other: WireMessage<some WireMemberTable>) -> Self {
        var joined = self
        for member in other.object.members { joined.object[member.name] = member.value }
        return joined
    }

    /// Returns the JSON of a member, whatever its type.
    package func json<Value>(of member: KeyPath<Members, WireMember<Value>>) -> JSONValue? {
        object[Members.table[keyPath: member].name]
    }

    /// The names of the JSON members that this message contains.
    package var names: [String] { object.members.map(\.name) }
}

extension WireMessage: WireValue {
    package static var wireType: String { JSONObject.wireType }
    package static var expectation: String { JSONObject.expectation }

    package init?(_ json: JSONValue) {
        guard let object = json.object else { return nil }
        self.init(object)
    }

    package var json: JSONValue { .object(object) }
}
