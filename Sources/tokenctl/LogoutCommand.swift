// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import StrictJSON

/// Ends a session, here and at the server.
struct LogoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Revoke a session's tokens and forget them.",
        discussion: "The tokens are forgotten here even when the server can not be reached."
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
        guard let session else { return try logOutOfAll() }
        try logOut(of: session.name)
    }

    /// Goes on after a failure and reports the first one.
    private func logOutOfAll() throws {
        let answer = try agent.endpoint.object(AgentRequest(.get, "sessions"))
        var failure: AgentError?
        for known in answer.sessions.map(SessionStatus.init) where known.state != "logged_out" {
            do {
                try logOut(of: known.name)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func logOut(of session: String) throws(AgentError) {
        let body = (["local": .bool(isLocal)] as JSONValue).serialized
        let request = AgentRequest(.post, "sessions", session, "logout", body: body)
        let answer: JSONObject
        do {
            answer = try agent.endpoint.object(request, timeout: .seconds(120))
        } catch {
            throw error.about(session)
        }
        if agent.wantsJSON { try StandardOutput.json(.object(answer)) }
        if answer["revoked"]?.bool == false { throw LogoutCommand.notYetRevoked(session, answer) }
    }

    /// The tokens still work for whoever has a copy, so a script must not take this for done.
    private static func notYetRevoked(_ session: String, _ answer: JSONObject) -> AgentError {
        let reason = answer["message"]?.string.map { ": \(TerminalText.escaped($0))" } ?? ""
        return AgentError(
            .temporarilyUnavailable,
            "\(session): logged out here; the server did not revoke the tokens yet\(reason)",
            remedy: "nothing to do, it is asked again by itself"
        )
    }
}
