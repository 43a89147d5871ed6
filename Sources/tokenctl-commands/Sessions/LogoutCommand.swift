// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// Ends a session, here and at the server.
struct LogoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Revoke a session's tokens and forget them.",
        discussion: "The tokens are forgotten here even when the server cannot be reached."
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @Flag(help: "Log out of every session.")
    var all = false

    @Flag(name: .customLong("local"), help: "Forget the tokens without asking the server to revoke them.")
    var isLocal = false

    @Flag(help: "Do not ask before all hosts of a fleet are logged out.")
    var allHosts = false

    @OptionGroup var agent: AgentOptions

    func validate() throws {
        guard !(allHosts && isLocal) else { throw ValidationError("give either --local or --all-hosts") }
        guard (session == nil) == all else { throw ValidationError("give either a session or --all") }
    }

    func run() throws {
        try confirm()
        let failure: AgentError? = if let session { logOut(of: session.name) } else { try logOutOfAll() }
        // With --json the failure is part of the session's JSON already.
        if let failure { throw ExitCode(FailureReport.tell(failure)) }
    }

    /// Asks, where somebody can answer, before more hosts than this one are logged out.
    ///
    /// - Throws: ``AgentError`` with `denied` if the person says no.
    private func confirm() throws {
        guard !isLocal, !allHosts, Question.isPossible else { return }
        let shared = try agent.endpoint.sessions().filter { known in
            known.isShared == true && known.fleetRole != "reader" && known.state != "logged_out"
                && (all || known.session == session?.name)
        }
        guard !shared.isEmpty else { return }
        let names = shared.compactMap(\.session).map { TerminalText.escaped($0) }.joined(separator: ", ")
        let question = "This logs out every host of the fleet (--local: this one alone): \(names). Go on?"
        guard try Question.agreement(to: question, emptyAgrees: false) != false else {
            throw AgentError(.denied, "nothing was logged out")
        }
    }

    /// Goes on after a failure and answers the first failure.
    private func logOutOfAll() throws(AgentError) -> AgentError? {
        var failure: AgentError?
        for known in try agent.endpoint.sessions() where !LogoutCommand.hasNothing(known) {
            let next = logOut(of: SessionRow(known).name)
            failure = failure ?? next
        }
        return failure
    }

    /// Whether nothing of a session is left: one that has ended by itself may still give out its last token.
    private static func hasNothing(_ session: SessionMessage) -> Bool {
        session.state == "logged_out" && (session.isLeftByPerson || session.reason == "source_ended")
    }

    /// Logs out of one session and answers what went wrong, which the JSON says too if that is wanted.
    private func logOut(of session: String) -> AgentError? {
        let (answer, failure) = outcome(for: session)
        guard agent.wantsJSON else { return failure ?? sayRest(session, answer) }
        var printed = RefusalMessage(answer)
        printed.error = failure.map(FailureReport.message)
        do {
            try StandardOutput.json(printed.json)
        } catch {
            return failure ?? error
        }
        return failure
    }

    /// Says which tokens may still work although nothing went wrong.
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

    /// A copy of the tokens still works, so a script must not take this for done.
    ///
    /// If the server has no way to revoke them, nothing went wrong: nobody can do more.
    private static func leftover(_ session: String, _ answer: LogoutMessage) -> AgentError? {
        let reason = answer.message.map { ": \(TerminalText.escaped($0))" } ?? ""
        switch answer.told {
        case .retrying:
            return AgentError(
                .temporarilyUnavailable,
                "\(session): logged out here; the server did not revoke the tokens yet\(reason)",
                session: session,
                remedy: "the agent tries again by itself"
            )
        case .refused:
            return AgentError(
                .misconfigured,
                "\(session): logged out here; the server refused to revoke the tokens\(reason)",
                session: session,
                remedy: "end the session in your account at the server, which is not asked again"
            )
        case .revoked, .nothing, .local, .unsupported, nil: return nil
        }
    }
}

/// A logout of one session.
struct LogoutRequest {
    let session: String
    /// Whether the server is left alone.
    let isLocal: Bool
    /// Whether it is an error that only this host can be logged out.
    var meansAllHosts = false
    /// Whether the client goes too that the server registered for the session.
    var deletesClient = false

    /// Logs out; the agent waits for the server a while.
    func send(to endpoint: AgentEndpoint) throws(AgentError) -> LogoutMessage {
        var body = JSONBody<LogoutMembers>()
        body.add(\.local, isLocal)
        if meansAllHosts { body.add(\.allHosts, true) }
        if deletesClient { body.add(\.unregister, true) }
        let request = AgentRequest(.post, "sessions", session, "logout", body: body.finished())
        return try endpoint.message(request, timeout: .seconds(120))
    }
}
