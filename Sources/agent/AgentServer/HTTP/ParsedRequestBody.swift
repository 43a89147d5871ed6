// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The JSON object of a request, every member of which must be one of `Members`.
struct ParsedRequestBody<Members: WireMemberTable> {
    private let message: WireMessage<Members>

    /// Parses `bytes`.
    ///
    /// An empty body is an empty object.
    ///
    /// - Throws: ``RequestFailure`` if the body is not an object or has an unknown member.
    init(_ bytes: [UInt8], _: Members.Type = Members.self) throws(RequestFailure) {
        guard !bytes.isEmpty else {
            message = WireMessage()
            return
        }
        guard let message = WireMessage<Members>(parsing: bytes) else {
            throw RequestFailure(code: .badRequest, message: "the body is not a JSON object")
        }
        let known = Members.all.map(\.name)
        guard message.names.allSatisfy({ name in known.contains { $0.bytewise == name.bytewise } }) else {
            let names = known.sorted().joined(separator: ", ")
            throw RequestFailure(code: .badRequest, message: "unknown member (members: \(names))")
        }
        self.message = message
    }

    /// Returns the value of a member, or `nil` if it is missing or `null`.
    func value<Value>(_ member: KeyPath<Members, WireMember<Value>>) throws(RequestFailure) -> Value? {
        guard let json = message.json(of: member), json != .null else { return nil }
        guard let value = Value(json) else { throw mistyped(member) }
        return value
    }

    func required<Value>(_ member: KeyPath<Members, WireMember<Value>>) throws(RequestFailure) -> Value {
        guard let value = try value(member) else { throw mistyped(member, "is required and must be") }
        return value
    }

    private func mistyped<Value>(
        _ member: KeyPath<Members, WireMember<Value>>,
        _ rule: String = "must be"
    ) -> RequestFailure {
        let name = Members.table[keyPath: member].name
        return RequestFailure(code: .badRequest, message: "\(name) \(rule) \(Value.expectation)")
    }
}
