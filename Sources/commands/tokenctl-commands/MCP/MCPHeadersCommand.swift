// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `mcp headers`, for clients that run a helper to get request headers.
struct MCPHeadersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "headers",
        abstract: "Print the header with the token, as JSON.",
        discussion: """
            For clients that run a command to get their headers. Prints nothing if there is no token. Never creates a \
            session and never logs in.
            """
    )

    @Argument(help: .resource)
    var url: ResourceArgument

    @OptionGroup var agent: AgentEndpointOptions

    func run() throws {
        let address = try url.address
        let source = try ResourceSession(address, agent.endpoint)
        let session = try source.session()
        // A client whose headers were rejected requests new ones at once.
        let ask = RejectionAwareRequest(
            tokenRequest: TokenRequest(session: session),
            sign: .repetition(of: "mcp \(address.text)"),
            endpoint: agent.endpoint
        )
        let token: AgentToken
        do {
            token = try ask.token()
        } catch {
            throw error.about(session)
        }
        guard !token.isBoundToKey else {
            throw AgentError(
                .misconfigured,
                "its tokens are bound to a key (DPoP), which a header used more than once cannot prove",
                session: session,
                remedy: .run("tokenctl mcp connect \(ShellWord.quoted(address.text))")
            )
        }
        let scheme = TokenOutputFormat.scheme(ofType: token.type)
        try StandardOutput.line((["Authorization": .string("\(scheme) \(token.value)")] as JSONValue).text)
    }
}
