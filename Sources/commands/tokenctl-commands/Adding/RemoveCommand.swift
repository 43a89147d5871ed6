// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `remove`, which logs out of a session and deletes its file.
struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Log out of a session and delete its file.",
        discussion:
            "Only files in sessions.d are deleted. Tables in the configuration file are not changed."
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Flag(name: .customLong("local"), help: "Erase the tokens without revoking them at the server.")
    var isLocal = false

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let file = try SessionFile(session.name, for: agent.endpoint)
        let report = try ConfigurationReport(ofAgent: file.configuration, about: session.name)
        guard report.isUsable else {
            let complaint = report.complaints.first ?? file.configuration
            throw AgentError(.misconfigured, complaint, remedy: .run("tokenctl config check"))
        }
        let place = report.message.session
        guard file.exists else { throw absence(place, file.configuration) }
        // A file for a session that is also in the configuration file was never used, so it may be deleted
        // alone.
        let isElsewhere = place?.line != nil && place?.file == nil
        if !isElsewhere {
            try checkUnused(place)
            try logOut()
        }
        try file.remove()
        try SessionFileReload(endpoint: agent.endpoint).reloadAfterRemoval()
        if agent.wantsJSON {
            let message = ChangedSessionFileMessage {
                $0.session = session.name
                $0.file = file.path
            }
            try StandardOutput.json(message.json)
        } else {
            try StandardOutput.line(TerminalText.escaped("Deleted: \(file.path)", longest: 8192))
        }
    }

    /// Returns the error for a session without a file.
    private func absence(_ place: SessionLocationMessage?, _ path: String) -> AgentError {
        guard let line = place?.line else {
            return AgentError(.notFound, "no session named \"\(session.name)\"", session: session.name)
        }
        return AgentError(
            .badRequest,
            "\(path):\(line): session.\(session.name) is in the configuration file, which stays unchanged",
            remedy: .run("tokenctl logout \(session.name)")
        )
    }

    private func checkUnused(_ place: SessionLocationMessage?) throws(AgentError) {
        let tables = place?.namedBy ?? []
        guard tables.isEmpty else {
            let list = tables.joined(separator: ", ")
            throw AgentError(
                .badRequest,
                "session \"\(session.name)\" is used by \(list)",
                remedy: .retry("after removing \(session.name) from \(list)")
            )
        }
    }

    /// Logs out; while a revocation is pending, it throws so that the session is not deleted.
    private func logOut() throws(AgentError) {
        do throws(AgentError) {
            let logout = LogoutRequest(session: session.name, isLocal: isLocal, deletesClient: true)
            let answer = try logout.send(to: agent.endpoint)
            guard answer.told == .retrying else { return }
            throw AgentError(
                .temporarilyUnavailable,
                "session not removed: logged out here, but not yet at the server",
                session: session.name,
                remedy: .retry("in a few minutes")
            )
        } catch {
            // A file with an error has no session.
            guard error.code == .notFound else { throw error.about(session.name) }
        }
    }
}
