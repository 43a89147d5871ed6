// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `list`, which prints the names of the sessions.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print the names of the sessions, one per line."
    )

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let answer: SessionsMessage = try agent.endpoint.message(AgentRequest(.get, "sessions"))
        if agent.wantsJSON {
            try StandardOutput.json(answer.json)
        } else {
            let sessions = answer.sessions ?? []
            guard !sessions.isEmpty else {
                let lines = SelectableSessions.none.joined(separator: "\n")
                return StandardError.write("tokenctl: \(lines)\n")
            }
            let names = sessions.map { TerminalText.escaped(DisplayedSession($0).name) + "\n" }
            try StandardOutput.write(Array(names.joined().utf8))
        }
    }
}
