// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The JSON object of a request, written into one buffer so that no copy of a secret in it stays behind.
struct JSONBody: ~Copyable {
    private var bytes: [UInt8] = []

    init() {
        // Growing would leave the old buffer behind: a secret may double when every byte is escaped.
        bytes.reserveCapacity(2 * Secret.longest)
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func add(_ name: String, _ value: JSONValue) {
        add(name)
        value.write(to: &bytes)
    }

    /// Adds a secret, which is wiped by this.
    mutating func add(_ name: String, secret: consuming Secret) {
        add(name)
        secret.write(to: &bytes)
    }

    /// Adds which of a session's tokens is meant, unless it is the ordinary one.
    mutating func add(_ scopes: [String], _ audience: String?) {
        if !scopes.isEmpty { add("scope", .string(scopes.joined(separator: " "))) }
        if let audience { add("audience", .string(audience)) }
    }

    private mutating func add(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        JSONString.write(name.utf8, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// The finished object; the only reference to its bytes.
    consuming func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}
