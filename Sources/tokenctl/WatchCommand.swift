// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import StrictJSON

/// Prints events as they happen.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print events as JSON, one per line, until Ctrl-C.",
        discussion: """
            Events: refreshed, refresh_failed, login_required, expiring, logged_in, logged_out, locked, unlocked.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let query = session.map { [(name: "session", value: $0.name)] } ?? []
        var events = try agent.endpoint.connect().lines(of: AgentRequest(.get, "events", query: query))
        while let line = try events.next() {
            guard let event = try? JSONValue(parsing: line) else {
                throw AgentError(.internal, "the agent sent an event that is not JSON")
            }
            try StandardOutput.json(event)
        }
        throw AgentError(.noAgent, "the agent has ended")
    }
}
