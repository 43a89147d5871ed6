// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
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

    @OptionGroup var agent: AgentOptions

    func validate() throws {
        guard (session == nil) == all else { throw ValidationError("give either a session or --all") }
    }

    func run() throws {
        let failure: AgentError? = if let session { logOut(of: session.name) } else { try logOutOfAll() }
        // With --json what was printed for the session tells it.
        if let failure { throw ExitCode(FailureReport.tell(failure)) }
    }

    /// Goes on after a failure and answers the first one.
    private func logOutOfAll() throws(AgentError) -> AgentError? {
        let answer = try agent.endpoint.object(AgentRequest(.get, "sessions"))
        var failure: AgentError?
        for known in answer.sessions.map(SessionRow.init) where known.state != "logged_out" {
            let next = logOut(of: known.name)
            failure = failure ?? next
        }
        return failure
    }

    /// Answers what went wrong, which is part of the JSON if that is wanted.
    private func logOut(of session: String) -> AgentError? {
        var (answer, failure) = outcome(for: session)
        guard agent.wantsJSON else { return failure ?? sayUnsupported(session, answer) }
        answer["error"] = failure.map(FailureReport.json)
        do {
            try StandardOutput.json(.object(answer))
        } catch {
            return failure ?? error
        }
        return failure
    }

    private func sayUnsupported(_ session: String, _ answer: JSONObject) -> AgentError? {
        guard answer["told"]?.string == "unsupported", let why = answer["message"]?.string else { return nil }
        do {
            try StandardOutput.line("\(session): logged out here only: \(TerminalText.escaped(why))")
            return nil
        } catch {
            return error
        }
    }

    private func outcome(for session: String) -> (answer: JSONObject, failure: AgentError?) {
        let body = (["local": .bool(isLocal)] as JSONValue).serialized
        let request = AgentRequest(.post, "sessions", session, "logout", body: body)
        do {
            let answer = try agent.endpoint.object(request, timeout: .seconds(120))
            return (answer, LogoutCommand.leftover(session, answer))
        } catch {
            var answer = JSONObject()
            answer["session"] = .string(session)
            return (answer, error.about(session))
        }
    }

    /// The tokens still work for whoever has a copy, so a script must not take this for done.
    ///
    /// Where the server has no way to revoke nothing went wrong, and nobody can do more.
    private static func leftover(_ session: String, _ answer: JSONObject) -> AgentError? {
        let reason = answer["message"]?.string.map { ": \(TerminalText.escaped($0))" } ?? ""
        switch answer["told"]?.string {
        case "retrying":
            return AgentError(
                .temporarilyUnavailable,
                "\(session): logged out here; the server did not revoke the tokens yet\(reason)",
                session: session,
                remedy: "nothing to do, it is asked again by itself"
            )
        case "refused":
            return AgentError(
                .misconfigured,
                "\(session): logged out here; the server refused to revoke the tokens\(reason)",
                session: session,
                remedy: "end the session in your account at the server, which is not asked again"
            )
        default: return nil
        }
    }
}
