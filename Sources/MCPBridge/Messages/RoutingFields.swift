// SPDX-License-Identifier: MIT

import Text

/// The fields that repeat what a message says, for servers and what stands before them
/// (Model Context Protocol 2026-07-28, Streamable HTTP).
///
/// From that version on each request says which version it speaks, and there are no sessions and no notifications of the
/// client over HTTP.
enum RoutingFields {
    /// Where a request says which version of the protocol it speaks.
    private static let versionKey: ByteText = "io.modelcontextprotocol/protocolVersion"

    /// What `Mcp-Name` repeats, by method.
    private static let names: [ByteText: ByteText] = [
        "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    ]

    /// The version that the only message of a packet says it speaks; `nil` before 2026-07-28.
    static func version(of packet: RPCPacket) -> String? {
        guard let message = packet.single, message.requestID != nil,
            let version = packet.value("params", "_meta", versionKey, of: message)?.string,
            version.utf8.isVisibleWord, version.utf8.count <= 64
        else { return nil }
        return version
    }

    /// The fields for a packet that speaks `version`.
    static func fields(for packet: RPCPacket, version: String) -> [(name: String, value: String)] {
        guard let message = packet.single, let method = message.method else { return [] }
        var fields = [
            (name: "mcp-protocol-version", value: version), (name: "mcp-method", value: encoded(method.text)),
        ]
        if let key = names[method], let name = packet.value("params", key, of: message)?.string {
            fields.append(("mcp-name", encoded(name)))
        }
        return fields
    }

    /// The text as a field's value: as it is if that is safe, else in Base64 between `=?base64?` and `?=`.
    static func encoded(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        let hasEdge = [text.utf8.first, text.utf8.last].contains(UInt8(ascii: " "))
        let looksEncoded = text.bytewise.hasPrefix("=?base64?") && text.bytewise.hasSuffix("?=")
        if isPlain, !hasEdge, !looksEncoded { return text }
        return "=?base64?\(Base64.encoded(text.utf8))?="
    }
}
