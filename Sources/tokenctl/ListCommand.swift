// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// Prints the names of the sessions.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print the names of the sessions, one per line."
    )

    @Flag(name: .customLong("json"), help: "Print the state of every session as JSON.")
    var wantsJSON = false

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let answer = try agent.endpoint.object(AgentRequest(.get, "sessions"))
        if wantsJSON {
            try StandardOutput.write(TerminalText.ascii(.object(answer)) + [0x0A])
        } else {
            let names = answer.sessions.map { TerminalText.escaped(SessionStatus($0).name) + "\n" }
            try StandardOutput.write(Array(names.joined().utf8))
        }
    }
}
