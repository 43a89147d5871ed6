// SPDX-License-Identifier: MIT

import Text

/// The values that a server returned at the beginning of a session and requires in each further request.
struct MCPSession: Equatable, Sendable {
    /// A field of the server that is sent back to it.
    struct KeptField: Equatable, Sendable {
        /// The name in lower case.
        var name: String
        var value: String
    }

    private static let idField: ByteText = "mcp-session-id"
    private static let versionField: ByteText = "mcp-protocol-version"

    /// The value of `Mcp-Session-Id`, or `nil` if the server has no sessions.
    let id: String?
    /// The negotiated protocol version.
    let version: String?
    /// Every other `Mcp-…` field of the response, in its order.
    let kept: [KeptField]

    /// The value before the first session.
    static let notBegun = MCPSession(fields: [], version: nil)

    /// Creates a session from the response to `initialize`.
    init(fields: [(name: String, value: String)], version: String?) {
        let own = fields.filter { field in
            field.name.bytewise.hasPrefix("mcp-") && field.value.utf8.count <= BridgeLimits.identifier
        }
        id = own.first { $0.name.bytewise == MCPSession.idField && $0.value.utf8.isVisibleWord }?.value
        let others = own.filter { field in
            ![MCPSession.idField, MCPSession.versionField].contains(field.name.bytewise)
                && field.value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        }
        kept = others.prefix(BridgeLimits.keptFields).map { KeptField(name: $0.name, value: $0.value) }
        self.version = version.flatMap { $0.utf8.isVisibleWord && $0.utf8.count <= 64 ? $0 : nil }
    }

    /// The fields of each request in the session.
    var fields: [(name: String, value: String)] {
        var fields = kept.map { (name: $0.name, value: $0.value) }
        if let id { fields.append((MCPSession.idField.text, id)) }
        if let version { fields.append((MCPSession.versionField.text, version)) }
        return fields
    }
}
