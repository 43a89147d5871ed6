// SPDX-License-Identifier: MIT

import Text

/// The members of one kind of message: each property is a ``WireMember``, in the order of `tokenagent-protocol(7)`.
package protocol WireMembers: Sendable {
    /// The one value of this type.
    static var table: Self { get }
}

extension WireMembers {
    /// All of them, in their order.
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
/// A member that is missing, or has the wrong type, reads as `nil`. Unknown members stay, so that what a
/// later agent says can be passed on.
@dynamicMemberLookup
package struct WireMessage<Members: WireMembers>: Equatable, Sendable {
    fileprivate var object: JSONObject

    package init(_ object: JSONObject = JSONObject()) {
        self.object = object
    }

    /// Reads a JSON text; `nil` if it is not an object.
    package init?(parsing bytes: some Sequence<UInt8>) {
        guard let json = try? JSONValue(parsing: bytes) else { return nil }
        self.init(json)
    }

    /// The same members, read as another kind of message.
    package init(_ other: WireMessage<some WireMembers>) {
        self.init(other.object)
    }

    /// A new message with the members that `fill` sets.
    package init(_ fill: (inout Self) -> Void) {
        self.init()
        fill(&self)
    }

    package subscript<Value>(dynamicMember member: KeyPath<Members, WireMember<Value>>) -> Value? {
        get { object[Members.table[keyPath: member].name].flatMap { Value($0) } }
        set { object[Members.table[keyPath: member].name] = newValue?.json }
    }

    /// These members, followed by those of `other`.
    package func followed(by other: WireMessage<some WireMembers>) -> Self {
        var joined = self
        for member in other.object.members { joined.object[member.name] = member.value }
        return joined
    }

    /// The JSON of a member, whatever its type.
    package func json<Value>(of member: KeyPath<Members, WireMember<Value>>) -> JSONValue? {
        object[Members.table[keyPath: member].name]
    }

    /// The names of the members that are there.
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
