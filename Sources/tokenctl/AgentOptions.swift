// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// The options of every command that talks to the agent.
struct AgentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Talk to the agent at this socket.", valueName: "path"))
    var socket: String?

    @Flag(name: .customLong("no-autostart"), help: "Fail instead of starting an agent when none answers.")
    var refusesAutostart = false

    @Flag(name: .customLong("json"), help: "Print data, or the failure, as JSON.")
    var wantsJSON = false

    var endpoint: AgentEndpoint { AgentEndpoint(socket: socket, mayStartAgent: refusesAutostart == false) }
}

/// The argument that names a session, completed with the names the agent knows.
extension ArgumentHelp {
    static let sessionName = ArgumentHelp("The session, as the configuration names it.", valueName: "name")
}

extension CompletionKind {
    /// Completes with the sessions of a running agent.
    static var sessions: CompletionKind { .shellCommand("tokenctl list --no-autostart 2>/dev/null") }
}

/// A duration on the command line, where a bare number means seconds.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        guard let duration = DurationText.parse(argument, allowingBareSeconds: true) else { return nil }
        self.duration = duration
    }
}
