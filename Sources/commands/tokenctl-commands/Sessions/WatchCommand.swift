// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `watch`, which prints events as they happen.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print events as JSON, one per line, until Ctrl-C.",
        discussion: """
            Events: \(EventName.allCases.map(\.rawValue).joined(separator: ", ")).
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument?

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let query = session.map { [(name: "session", value: $0.name)] } ?? []
        var connection = try agent.endpoint.connect()
        StandardOutput.endWithReader()
        while true {
            var events = try connection.lines(of: AgentRequest(.get, "events", query: query))
            do {
                try print(&events)
            } catch let failure as AgentError where failure.code == .noAgent {
                // If the agent still runs, it has dropped this reader as too slow.
                guard let again = agent.endpoint.connectIfThere() else { throw WatchCommand.agentHasEnded }
                connection = again
                StandardError.write("tokenctl: events are missing here: they were not read in time\n")
                continue
            }
            throw WatchCommand.agentHasEnded
        }
    }

    static let agentHasEnded = AgentError(.noAgent, "the agent has ended")

    /// Prints events until the stream ends.
    private func print(_ events: inout AgentLines) throws {
        while let line = try events.next() {
            guard let event = try? JSONValue(parsing: line) else {
                throw AgentError(.internal, "the agent sent an event that is not JSON")
            }
            try StandardOutput.json(event)
        }
    }
}
