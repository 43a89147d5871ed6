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
    let address: ResourceAddress

    init?(argument: String) {
        guard let address = ResourceAddress(argument) else { return nil }
        self.address = address
    }
}

extension ArgumentHelp {
    static let resource = ArgumentHelp(
        "The address of the server; the session is the one whose resource covers it.",
        valueName: "url"
    )
}
