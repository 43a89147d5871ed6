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
        abstract: "Run curl with a token, and again if the server rejects it.",
        discussion: """
            The token is never in arguments or the environment. It is sent only to the server of the URL, which \
            must be complete; if the session has hosts, they must include the server. curl reads no file with \
            options, and options that could send the token elsewhere are not allowed. Output and exit status are \
            curl's. After a response with status 401 or 403, the agent decides: with a new token the request is \
            sent once more. The status is 4 if the session has ended or the server requires a new login.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @OptionGroup var variant: VariantOptions

    @Option(
        help: ArgumentHelp(
            "Begin URLs that are paths with this kept member of the session.",
            valueName: "member"
        )
    )
    var base: String?

    @OptionGroup var agent: AgentAndOutputOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("After --: the arguments for curl.", valueName: "curl-arguments")
    )
    var arguments: [String] = []

    func validate() throws {
        guard !arguments.isEmpty else { throw ValidationError("missing curl's arguments after --") }
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

    private var tokenRequest: TokenRequest {
        TokenRequest(
            session: session.name,
            scopes: variant.scopes,
            audience: variant.audience,
            reportsRefusals: true
        )
    }

    /// Returns what the agent knows of the session.
    private func status() throws(AgentError) -> SessionMessage {
        try agent.endpoint.waiting(as: tokenRequest).message(AgentRequest(.get, "sessions", session.name))
    }

    /// Returns the address in the kept member `name` of `status`, without a slash at the end.
    private func address(in name: String, of status: SessionMessage) throws(AgentError) -> String {
        guard let address = status.baseAddresses?[name]?.string else {
            let known = status.baseAddresses?.members.map(\.name) ?? []
            throw AgentError(
                .badRequest,
                known.isEmpty
                    ? "the session keeps no address"
                    : "the session keeps no address \(name), only \(known.joined(separator: ", "))",
                session: session.name,
                remedy: .run("tokenctl status \(session.name)")
            )
        }
        return address.utf8.last == UInt8(ascii: "/") ? String(address.dropLast()) : address
    }

    /// Checks that `hosts` in `status` match `server`.
    ///
    /// Without `hosts`, any server of a URL that the user wrote is allowed, but no server that another server
    /// named.
    private func checkHosts(for server: ServerAddress, in status: SessionMessage) throws(AgentError) {
        let rules = SessionChoice.rules(status)
        guard rules.isEmpty && base == nil || SessionChoice.closest(rules, to: server.place) != nil else {
            throw AgentError(
                .denied,
                "hosts does not include \(server.origin)",
                session: session.name,
                remedy: ConfigurationRemedy.change(
                    .set("hosts in [session.\(session.name)] to include \(server.place.text)")
                )
            )
        }
    }

    private func send() throws(AgentError) -> Int32 {
        // Without a base, the arguments are checked before the agent is asked.
        let known: SessionMessage? = if base == nil { nil } else { try status() }
        var address: String?
        if let base, let known { address = try self.address(in: base, of: known) }
        let arguments = try CurlArguments(arguments, base: address)
        let server = try arguments.server()
        try ConfigurationRemedy.whereNotTakenOver(at: agent.endpoint) { () throws(AgentError) in
            let status = if let known { known } else { try self.status() }
            try checkHosts(for: server, in: status)
        }
        var tokens = try CurlTokens(tokenRequest, for: arguments, from: agent.endpoint)
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
