// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `remove`, which logs out of a session and deletes its file.
struct RemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Log out of a session and delete its file.",
        discussion:
            "Only files of sessions.d are deleted; a table in the configuration file is yours to delete."
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Flag(name: .customLong("local"), help: "Forget the tokens without asking the server to revoke them.")
    var isLocal = false

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let file = try SessionFile(session.name, for: agent.endpoint)
        let report = try ConfigurationReport(of: file.otherConfiguration, about: session.name)
        guard report.isUsable else {
            let complaint = report.complaints.first ?? file.configuration
            throw AgentError(.misconfigured, complaint, remedy: "tokenctl config check")
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
            let message = SessionFileMessage {
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
            return AgentError(.notFound, "there is no session \(session.name)", session: session.name)
        }
        return AgentError(
            .badRequest,
            "\(path):\(line): session.\(session.name) is in the configuration file",
            remedy: "log out with tokenctl logout \(session.name), then delete the table"
        )
    }

    private func checkUnused(_ place: SessionLocationMessage?) throws(AgentError) {
        let tables = place?.namedBy ?? []
        guard tables.isEmpty else {
            throw AgentError(
                .badRequest,
                "\(session.name) is named by \(tables.joined(separator: ", "))",
                remedy: "take it out there first"
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
                "logged out here; the server did not revoke the tokens yet, so the session stays",
                session: session.name,
                remedy: "try again later, or use --local"
            )
        } catch {
            // A file with an error has no session.
            guard error.code == .notFound else { throw error.about(session.name) }
        }
    }
}
