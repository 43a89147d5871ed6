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

/// Which of a session's tokens is meant.
struct VariantOptions: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "A scope the token shall have instead of the session's; repeatable.",
            valueName: "scope"
        )
    )
    var scopes: [String] = []

    @Option(help: ArgumentHelp("The audience the token shall be for.", valueName: "audience"))
    var audience: String?
}

/// The name of a session on the command line: not empty; the agent knows which exist.
struct SessionArgument: ExpressibleByArgument {
    let name: String

    init?(argument: String) {
        guard argument.isEmpty == false else { return nil }
        name = argument
    }

    static var defaultCompletionKind: CompletionKind {
        .shellCommand("tokenctl list --no-autostart 2>/dev/null")
    }
}

extension ArgumentHelp {
    static let sessionName = ArgumentHelp("The session, as the configuration names it.", valueName: "name")
}

/// A duration on the command line, where a bare number means seconds.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        guard let duration = DurationText.parse(argument, allowingBareSeconds: true) else { return nil }
        self.duration = duration
    }
}
