// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The options of every command, including those that do not use the agent.
struct AgentEndpointOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use the agent at this socket.", valueName: "path"))
    var socket: SocketArgument?

    @Flag(name: .customLong("no-autostart"), help: "Fail instead of starting an agent if none is running.")
    var refusesAutostart = false

    var endpoint: AgentEndpoint {
        AgentEndpoint(socket: socket?.path, mayStartAgent: !refusesAutostart)
    }
}

/// The options of every command that prints data or may fail for its own reasons.
struct AgentAndOutputOptions: ParsableArguments {
    @OptionGroup var agent: AgentEndpointOptions

    @Flag(name: .customLong("json"), help: "Print data and errors as JSON.")
    var wantsJSON = false

    var endpoint: AgentEndpoint { agent.endpoint }
}

/// The path of a socket on the command line, which is not empty: that would be the working directory.
struct SocketArgument: ExpressibleByArgument {
    let path: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        path = argument
    }
}

/// The options that select one of a session's tokens.
struct VariantOptions: ParsableArguments {
    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "Request this scope instead of the session's; repeatable.",
            valueName: "scope"
        )
    )
    var scopes: [String] = []

    @Option(help: ArgumentHelp("Request a token for this audience.", valueName: "audience"))
    var audience: String?
}

/// The name of a session on the command line, which is not empty; the agent checks whether it exists.
struct SessionArgument: ExpressibleByArgument {
    let name: String

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        name = argument
    }

    static var defaultCompletionKind: CompletionKind {
        .shellCommand("tokenctl list --no-autostart 2>/dev/null")
    }
}

extension ArgumentHelp {
    static let sessionName = ArgumentHelp("The name of the session.", valueName: "name")
}

/// A duration on the command line, where a bare number means seconds.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        guard let duration = DurationText.parse(argument, allowingBareSeconds: true) else { return nil }
        self.duration = duration
    }
}
