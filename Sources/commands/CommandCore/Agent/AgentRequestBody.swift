// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The JSON object of a request, written into one buffer that leaves no copy of a secret behind.
package struct AgentRequestBody<Members: WireMemberTable>: ~Copyable {
    private var bytes: [UInt8] = []

    package init() {
        // Growing would leave the old buffer behind; a secret may double in size when every byte is escaped.
        bytes.reserveCapacity(2 * Secret.longest)
        bytes.append(UInt8(ascii: "{"))
    }

    /// Adds a member with its value.
    package mutating func add<Value>(_ member: KeyPath<Members, WireMember<Value>>, _ value: Value) {
        add(Members.table[keyPath: member].name)
        value.json.write(to: &bytes)
    }

    /// Adds a secret and wipes it.
    package mutating func add(_ member: KeyPath<Members, WireMember<String>>, secret: consuming Secret) {
        add(Members.table[keyPath: member].name)
        secret.write(to: &bytes)
    }

    private mutating func add(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        JSONStringWriter.write(name.utf8, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Returns the finished object, whose bytes have no other reference.
    package consuming func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}

/// The members of a request about one of a session's tokens.
package protocol TokenSelectionMembers: WireMemberTable {
    var scope: WireMember<String> { get }
    var audience: WireMember<String> { get }
}

extension RefreshRequestMembers: TokenSelectionMembers {}
extension RejectionReportRequestMembers: TokenSelectionMembers {}

extension AgentRequestBody where Members: TokenSelectionMembers {
    /// Adds the scopes and audience that select one of the session's tokens; without them it is the default
    /// one.
    package mutating func add(_ scopes: [String], _ audience: String?) {
        if !scopes.isEmpty { add(\.scope, scopes.joined(separator: " ")) }
        if let audience { add(\.audience, audience) }
    }
}
