// SPDX-License-Identifier: MIT

import Text

/// The HTTP fields that repeat parts of a message, for servers and the proxies in front of them (Model
/// Context Protocol 2026-07-28, Streamable HTTP).
///
/// From that version on, each request contains its protocol version. There are no sessions and no client
/// notifications over HTTP.
enum MCPRoutingHeaders {
    /// The member that contains the protocol version of a request.
    private static let versionKey: ByteText = "io.modelcontextprotocol/protocolVersion"

    /// The parameter that `Mcp-Name` repeats, by method.
    private static let names: [ByteText: ByteText] = [
        "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    ]

    /// Returns the protocol version in the only message of a packet, or `nil` before 2026-07-28.
    static func version(of packet: RPCPacket) -> String? {
        guard let message = packet.single, message.requestID != nil,
            let version = packet.value("params", "_meta", versionKey, of: message)?.string,
            version.utf8.isVisibleWord, version.utf8.count <= 64
        else { return nil }
        return version
    }

    /// Returns the fields for a packet of protocol version `version`.
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

    /// Returns the text as a field value, in Base64 between `=?base64?` and `?=` unless it is safe as it is.
    static func encoded(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        let hasEdge = [text.utf8.first, text.utf8.last].contains(UInt8(ascii: " "))
        let looksEncoded = text.bytewise.hasPrefix("=?base64?") && text.bytewise.hasSuffix("?=")
        if isPlain, !hasEdge, !looksEncoded { return text }
        return "=?base64?\(Base64.encoded(text.utf8))?="
    }
}
