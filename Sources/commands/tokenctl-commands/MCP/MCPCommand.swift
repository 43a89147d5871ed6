// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `mcp`, for programs that use an MCP server that requires a token.
struct MCPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mcp",
        abstract: "Connect programs to an MCP server that requires a token.",
        subcommands: [MCPHeadersCommand.self, MCPConnectCommand.self]
    )
}

/// The URL of an MCP server on the command line.
struct ResourceArgument: ExpressibleByArgument {
    private let text: String

    init(argument: String) { text = argument }

    /// The parsed URL.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest`. The message does not contain the argument,
    ///   which may include a password.
    var address: ResourceAddress {
        get throws(AgentError) {
            guard let address = ResourceAddress(text) else {
                throw AgentError(
                    .badRequest,
                    "invalid URL of the server",
                    remedy: .set("a URL with its scheme, such as https://mcp.example.com/mcp")
                )
            }
            return address
        }
    }
}

extension ArgumentHelp {
    static let resource = ArgumentHelp(
        "The URL of the server, which selects the session by its resource.",
        valueName: "url"
    )
}
