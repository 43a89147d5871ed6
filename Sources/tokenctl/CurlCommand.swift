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
            exit status are curl's. An answer 401 is told to the agent: with a fresh token the request is sent \
            once more, and when the session is over the status is 4.
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
        var connection = try agent.endpoint.connect()
        let first = try connection.token(demand)
        let signals = try RelayedSignals()
        let spool = try RequestSpool(isNeeded: arguments.readsStandardInput)
        var attempt = try CurlAttempt.prepared(arguments)
        let status = try attempt.run(first, input: spool.descriptor, signals)
        guard attempt.isRefused, let second = try replacement(of: first, &attempt) else {
            attempt.pass()
            return status
        }
        spool.rewind()
        var repeated = try CurlAttempt.prepared(arguments)
        let secondStatus = try repeated.run(second, input: spool.descriptor, signals)
        if repeated.isRefused { _ = try replacement(of: second, &repeated) }
        repeated.pass()
        return secondStatus
    }

    /// Tells the agent what the server said; a token to try instead, nil if none would help.
    ///
    /// - Throws: ``AgentError`` with the code `loginRequired` when the session is over; any other failure of the
    ///   agent leaves the server's answer to speak for itself.
    private func replacement(
        of token: TokenAnswer,
        _ attempt: inout CurlAttempt
    ) throws(AgentError) -> TokenAnswer? {
        let report = RefusalReport(token: token, challenge: attempt.challenge, body: attempt.refusedBody())
        do {
            return try report.send(to: agent.endpoint, about: demand)
        } catch {
            guard error.code != .loginRequired else { throw error }
            attempt.pass()
            StandardError.write("tokenctl: \(FailureReport.line(for: error.about(session.name)))\n")
            return nil
        }
    }
}
