// SPDX-License-Identifier: MIT

import Text

/// What a server has said at the beginning of a conversation, and wants to hear with each further request.
struct MCPSession: Equatable, Sendable {
    /// A field of the server's that is sent back to it.
    struct KeptField: Equatable, Sendable {
        /// In lower case.
        var name: String
        var value: String
    }

    private static let idField: ByteText = "mcp-session-id"
    private static let versionField: ByteText = "mcp-protocol-version"

    /// `Mcp-Session-Id`; `nil`: the server keeps no session.
    let id: String?
    /// The version of the protocol that was agreed on.
    let version: String?
    /// Every other field `Mcp-…` of the answer, in its order.
    let kept: [KeptField]

    /// Before the first conversation.
    static let notBegun = MCPSession(fields: [], version: nil)

    /// Takes what the fields of an answer to `initialize` say.
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

    /// The fields of each request of the conversation.
    var fields: [(name: String, value: String)] {
        var fields = kept.map { (name: $0.name, value: $0.value) }
        if let id { fields.append((MCPSession.idField.text, id)) }
        if let version { fields.append((MCPSession.versionField.text, version)) }
        return fields
    }
}
