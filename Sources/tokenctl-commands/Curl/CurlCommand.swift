// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc
import Text

/// The command `curl`, which runs curl with a token, and again with a new one after a rejection.
struct CurlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "curl",
        abstract: "Run curl with a token, once more if it was refused.",
        discussion: """
            The token never stands in arguments or the environment. It is for one server, that of the URL: \
            the URL must be whole, and if the session has hosts they must name the server. curl reads no \
            file with options, and an option that could lead the token elsewhere is refused. Output and exit \
            status are curl's. If that server answers 401 or 403, the agent decides: with a fresh token the \
            request is sent once more, and if the session is over, or the server wants more of the login, the \
            status is 4.
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
        guard !arguments.isEmpty else { throw ValidationError("curl's arguments go after --") }
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

    private var demand: TokenRequest {
        TokenRequest(
            session: session.name,
            scopes: variant.scopes,
            audience: variant.audience,
            reportsRefusals: true
        )
    }

    /// Checks that the session's `hosts`, if any, match `server`.
    private func checkHosts(for server: ServerAddress) throws(AgentError) {
        let rules = try agent.endpoint.waiting(as: demand).hostRules(of: session.name)
        guard rules.isEmpty || SessionChoice.closest(rules, to: server.place) != nil else {
            throw AgentError(
                .denied,
                "its hosts do not name \(server.origin)",
                session: session.name,
                remedy: ConfigurationRemedy.change(
                    "add \(server.place.text) to hosts in [session.\(session.name)]"
                )
            )
        }
    }

    private func send() throws(AgentError) -> Int32 {
        let arguments = try CurlArguments(arguments)
        let server = try arguments.server()
        try ConfigurationRemedy.whereNotTakenOver(at: agent.endpoint) { () throws(AgentError) in
            try checkHosts(for: server)
        }
        var tokens = try CurlTokens(demand, for: arguments, from: agent.endpoint)
        let signals = try RelayedSignals()
        let spool = try RequestSpool(isNeeded: arguments.inputs.includeStandardInput)
        while true {
            var attempt = try CurlAttempt.prepared(arguments, server)
            try attempt.run(tokens.current, input: spool.descriptor, signals)
            guard try tokens.advance(after: &attempt) else { return attempt.end() }
            spool.rewind()
        }
    }
}
