// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// What programs need that speak the Model Context Protocol to a server that wants a token.
struct MCPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mcp",
        abstract: "Connect programs to an MCP server that wants a token.",
        subcommands: [MCPHeadersCommand.self, MCPConnectCommand.self]
    )
}

/// The address of an MCP server on the command line.
struct ResourceArgument: ExpressibleByArgument {
    private let text: String

    init(argument: String) { text = argument }

    /// - Throws: ``AgentError`` with the code `badRequest`. It does not show what was given, which may hold a password.
    var address: ResourceAddress {
        get throws(AgentError) {
            guard let address = ResourceAddress(text) else {
                throw AgentError(
                    .badRequest,
                    "the address of the server cannot be read",
                    remedy: "give it with its scheme, as https://mcp.example.com/mcp"
                )
            }
            return address
        }
    }
}

extension ArgumentHelp {
    static let resource = ArgumentHelp(
        "The address of the server; the session is the one whose resource covers it.",
        valueName: "url"
    )
}
