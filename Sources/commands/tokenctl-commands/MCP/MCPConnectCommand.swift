// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc
import Text

/// The command `mcp connect`, an MCP server at standard input and output for clients that start one.
struct MCPConnectCommand: ParsableCommand {
    /// The program that sends the HTTP requests, which this one cannot.
    private static let program = "tokenagent-mcp"

    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Serve MCP on standard input and output.",
        discussion: """
            Forwards messages to the server and back, with a token that the client does not see. Never creates a \
            session and never logs in: the client is told what the user has to do.
            """
    )

    @Argument(help: .resource)
    var url: ResourceArgument

    @Option(
        name: .customLong("ca-file"),
        help: ArgumentHelp(
            "PEM file of CA certificates to trust in addition to the system's.",
            valueName: "file"
        )
    )
    var authorities: String?

    @OptionGroup var agent: AgentEndpointOptions

    func validate() throws {
        guard authorities?.isEmpty != true else { throw ValidationError("--ca-file requires a path") }
    }

    func run() throws {
        // Report errors of the address before the other program starts.
        let address = try url.address
        _ = try ResourceSession(address, agent.endpoint)
        guard let program = InstalledProgram.path(MCPConnectCommand.program) else {
            throw AgentError(
                .internal,
                "\(MCPConnectCommand.program) not found next to tokenctl or in ../libexec/tokenagent",
                remedy: .retry("after installing tokenagent-proxy")
            )
        }
        var words = [program, address.text]
        if let socket = agent.socket { words += ["--socket", socket.path] }
        if agent.refusesAutostart { words.append("--no-autostart") }
        if let authorities { words += ["--ca-file", authorities] }
        var argv = unsafe words.map { unsafe strdup($0) } + [nil]
        unsafe execv(program, &argv)
        throw AgentError(.internal, "cannot start \(program): \(systemMessage(errno))")
    }
}
