// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import Glibc
import StrictJSON

/// Runs curl with a token, and once more when the server says that the token has expired.
struct CurlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "curl",
        abstract: "Run curl with a token, once more if it was refused.",
        discussion: """
            The token never stands in arguments or the environment, and curl sends it to no other host. Output and \
            exit status are curl's. An answer 401 or 403 is told to the agent: with a fresh token the request is \
            sent once more, and when the session is over the status is 4.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @OptionGroup var variant: VariantOptions

    @OptionGroup var agent: AgentOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("After --: the arguments for curl.", valueName: "curl-arguments")
    )
    var arguments: [String] = []

    func validate() throws {
        guard arguments.isEmpty == false else { throw ValidationError("curl's arguments go after --") }
    }

    func run() throws {
        let status: Int32
        do {
            status = try send()
        } catch {
            throw error.about(session.name)
        }
        if status != 0 { throw ExitCode(status) }
    }

    private var demand: TokenDemand {
        TokenDemand(session: session.name, scopes: variant.scopes, audience: variant.audience)
    }

    private func send() throws(AgentError) -> Int32 {
        let arguments = CurlArguments(arguments)
        var tokens = try CurlTokens(demand, for: arguments, from: agent.endpoint)
        let signals = try RelayedSignals()
        let spool = try RequestSpool(isNeeded: arguments.readsStandardInput)
        while true {
            var attempt = try CurlAttempt.prepared(arguments)
            let status = try attempt.run(tokens.current, input: spool.descriptor, signals)
            guard attempt.isRefused, try tokens.advance(after: &attempt) else {
                attempt.pass()
                return status
            }
            spool.rewind()
        }
    }
}
