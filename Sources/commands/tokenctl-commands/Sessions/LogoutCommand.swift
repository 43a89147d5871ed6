// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `logout`, which ends a session locally and at the server.
struct LogoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Revoke and erase the tokens of a session.",
        discussion: "The tokens are erased here even if the server cannot be reached."
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @Flag(help: "Log out of every session.")
    var all = false

    @Flag(name: .customLong("local"), help: "Erase the tokens without revoking them at the server.")
    var isLocal = false

    @Flag(help: "Log out all hosts of a fleet without a prompt.")
    var allHosts = false

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard !(allHosts && isLocal) else {
            throw ValidationError("--local cannot be combined with --all-hosts")
        }
        guard (session == nil) == all else {
            throw ValidationError("logout requires either a session name or --all")
        }
    }

    func run() throws {
        try confirm()
        let failure: AgentError? = if let session { logOut(of: session.name) } else { try logOutOfAll() }
        // With --json the error is already part of the session's JSON.
        if let failure { throw ExitCode(FailureReport.tell(failure)) }
    }

    /// Asks for confirmation at a terminal before other hosts are logged out too.
    ///
    /// - Throws: ``AgentError`` with the code `denied` if the user says no.
    private func confirm() throws {
        guard !isLocal, !allHosts, TerminalPrompts.isPossible else { return }
        let shared = try agent.endpoint.sessions().filter { known in
            known.isShared == true && known.fleetRole != "reader" && known.state != "logged_out"
                && (all || known.session == session?.name)
        }
        guard !shared.isEmpty else { return }
        let names = shared.compactMap(\.session).map { TerminalText.escaped($0) }.joined(separator: ", ")
        let help = "This logs out every host of the fleet (--local: only this host): \(names)"
        guard try TerminalPrompts.agreement(to: "Continue?", below: help, emptyAgrees: false) != false else {
            throw AgentError(.denied, "nothing was logged out")
        }
    }

    /// Logs out of all sessions, also after an error.
    ///
    /// - Returns: The first error, or `nil`.
    private func logOutOfAll() throws(AgentError) -> AgentError? {
        var failure: AgentError?
        for known in try agent.endpoint.sessions() where !LogoutCommand.hasNothing(known) {
            let next = logOut(of: DisplayedSession(known).name)
            failure = failure ?? next
        }
        return failure
    }

    /// Returns whether there is nothing to log out of; a session that has expired may still serve its last
    /// token.
    private static func hasNothing(_ session: SessionMessage) -> Bool {
        session.state == "logged_out" && (session.isLeftByPerson || session.reason == "source_ended")
    }

    /// Logs out of one session.
    ///
    /// - Returns: The error, which is also part of the JSON with `--json`, or `nil`.
    private func logOut(of session: String) -> AgentError? {
        let (answer, failure) = outcome(for: session)
        guard agent.wantsJSON else { return failure ?? sayRest(session, answer) }
        var printed = ErrorResponseMessage(answer)
        printed.error = failure.map(FailureReport.message)
        do {
            try StandardOutput.json(printed.json)
        } catch {
            return failure ?? error
        }
        return failure
    }

    /// Prints which tokens may still work after a logout without an error.
    private func sayRest(_ session: String, _ answer: LogoutMessage) -> AgentError? {
        guard let told = answer.told, [.unsupported, .revoked].contains(told), let why = answer.message else {
            return nil
        }
        let what = told == .revoked ? "logged out" : "logged out here only"
        do {
            try StandardOutput.line("\(session): \(what): \(TerminalText.escaped(why))")
            return nil
        } catch {
            return error
        }
    }

    private func outcome(for session: String) -> (answer: LogoutMessage, failure: AgentError?) {
        do {
            let request = LogoutRequest(session: session, isLocal: isLocal, meansAllHosts: allHosts)
            let answer = try request.send(to: agent.endpoint)
            return (answer, LogoutCommand.leftover(session, answer))
        } catch {
            return (LogoutMessage { $0.session = session }, error.about(session))
        }
    }

    /// Returns the error if a copy of the tokens may still work, so that a script does not assume they are
    /// revoked.
    ///
    /// If the server does not support revocation, there is no error, because nothing more can be done.
    private static func leftover(_ session: String, _ answer: LogoutMessage) -> AgentError? {
        let reason = answer.message.map { ": \(TerminalText.escaped($0))" } ?? ""
        switch answer.told {
        case .retrying:
            return AgentError(
                .temporarilyUnavailable,
                "\(session): logged out here, but not yet at the server (the agent retries)\(reason)",
                session: session
            )
        case .refused:
            return AgentError(
                .misconfigured,
                "\(session): logged out here, but the server rejected the revocation\(reason)",
                session: session,
                remedy: .see("the sessions of your account at the server")
            )
        case .revoked, .nothing, .local, .unsupported, nil: return nil
        }
    }
}

/// A logout of one session.
struct LogoutRequest {
    let session: String
    /// Whether to erase the tokens without a revocation at the server.
    let isLocal: Bool
    /// Whether it is an error if only this host can be logged out.
    var meansAllHosts = false
    /// Whether to delete the client that the server registered for the session.
    var deletesClient = false

    /// Sends the request; the agent waits some time for the server.
    func send(to endpoint: AgentEndpoint) throws(AgentError) -> LogoutMessage {
        var body = AgentRequestBody<LogoutRequestMembers>()
        body.add(\.local, isLocal)
        if meansAllHosts { body.add(\.allHosts, true) }
        if deletesClient { body.add(\.unregister, true) }
        let request = AgentRequest(.post, "sessions", session, "logout", body: body.finished())
        return try endpoint.message(request, timeout: .seconds(120))
    }
}
