// SPDX-License-Identifier: MIT

import Text

/// The tool arguments to repeat in fields `Mcp-Param-…`, as marked by `x-mcp-header` in the tools' schemas
/// (Model Context Protocol 2026-07-28, Streamable HTTP, Custom Headers).
struct MCPParameterHeaders: Sendable {
    private struct Parameter {
        /// The names that lead to the argument.
        var path: [ByteText]
        /// The name of the field, in lower case.
        var field: String
    }

    private static let prefix = "mcp-param-"
    /// The maximum size and number of values of a list of tools, and the maximum numbers of tools and of
    /// their parameters.
    private static let maximumList = 4 << 20
    private static let maximumValues = 1 << 17
    private static let maximumTools = 1024
    private static let maximumParameters = 32
    /// The maximum nesting depth of an argument.
    private static let deepest = 8

    private var parameters: [ByteText: [Parameter]] = [:]

    /// Records the parameters in a list of tools.
    ///
    /// They replace those of known tools with the same name.
    mutating func note(_ answer: RPCPacket) {
        guard answer.bytes.count <= MCPParameterHeaders.maximumList,
            let object = try? JSONValue(
                parsing: answer.bytes,
                maximumDepth: 64,
                maximumValues: MCPParameterHeaders.maximumValues
            ).object
        else { return }
        for tool in object["result"]?.object?["tools"]?.array?.prefix(MCPParameterHeaders.maximumTools) ?? []
        {
            guard let name = tool.object?["name"]?.string, let schema = tool.object?["inputSchema"]?.object
            else {
                continue
            }
            var found: [Parameter] = []
            MCPParameterHeaders.collect(schema, [], &found)
            parameters[name.bytewise] = found.isEmpty ? nil : found
            if parameters.count > MCPParameterHeaders.maximumTools { parameters = [:] }
        }
    }

    /// Returns the fields for a tool call.
    func fields(for packet: RPCPacket) -> [(name: String, value: String)] {
        guard !parameters.isEmpty, let message = packet.single, message.method == "tools/call",
            let tool = packet.value("params", "name", of: message)?.string
        else { return [] }
        return (parameters[tool.bytewise] ?? []).compactMap { parameter in
            let value = packet.value(["params", "arguments"] + parameter.path, of: message)
            let text = value?.string ?? value?.literal ?? value?.bool.map { $0 ? "true" : "false" }
            return text.map { (name: parameter.field, value: MCPRoutingHeaders.encoded($0)) }
        }
    }

    private static func collect(_ schema: JSONObject, _ path: [ByteText], _ found: inout [Parameter]) {
        guard path.count < deepest else { return }
        for member in schema["properties"]?.object?.members ?? [] {
            guard let property = member.value.object else { continue }
            let place = path + [member.name.bytewise]
            if let field = property["x-mcp-header"]?.string, found.count < maximumParameters,
                (1...64).contains(field.utf8.count), field.utf8.allSatisfy(\.isTokenByte)
            {
                found.append(Parameter(path: place, field: prefix + field.bytewise.lowercased.text))
            }
            collect(property, place, &found)
        }
    }
}
