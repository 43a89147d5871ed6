// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc

/// The command `mcp connect`, an MCP server at standard input and output for clients that start one.
struct MCPConnectCommand: ParsableCommand {
    /// The program that sends the HTTP requests, which this one cannot.
    private static let program = "tokenagent-mcp"

    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Be an MCP server at standard input and output.",
        discussion: """
            Carries messages to the server and back, with a token that the client does not see. The session is never \
            made here, and nobody is logged in: the client is told what a person has to do.
            """
    )

    @Argument(help: .resource)
    var url: ResourceArgument

    @Option(
        name: .customLong("ca-file"),
        help: ArgumentHelp(
            "Certificates of authorities to trust beside the system's, PEM.",
            valueName: "file"
        )
    )
    var authorities: String?

    @OptionGroup var agent: EndpointOptions

    func validate() throws {
        guard authorities?.isEmpty != true else { throw ValidationError("--ca-file needs a path") }
    }

    func run() throws {
        // Report errors of the address before the other program starts.
        let address = try url.address
        _ = try SessionSource(address, agent.endpoint)
        guard let program = InstalledProgram.path(MCPConnectCommand.program) else {
            throw AgentError(
                .internal,
                "\(MCPConnectCommand.program) is missing beside tokenctl and in ../libexec/tokenagent",
                remedy: "install it there; Debian's package is tokenagent-proxy"
            )
        }
        var words = [program, address.text]
        if let socket = agent.socket { words += ["--socket", socket.path] }
        if agent.refusesAutostart { words.append("--no-autostart") }
        if let authorities { words += ["--ca-file", authorities] }
        var argv = unsafe words.map { unsafe strdup($0) } + [nil]
        unsafe execv(program, &argv)
        throw AgentError(.internal, "\(program) cannot be started: \(systemMessage(errno))")
    }
}
