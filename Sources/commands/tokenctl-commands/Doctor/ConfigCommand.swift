// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `config`, with subcommands for the configuration's check, path and example.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check the configuration, or show how to write one.",
        subcommands: [ConfigCheckCommand.self, ConfigPath.self, ConfigExample.self]
    )

    struct ConfigPath: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "path",
            abstract: "Print the path of the configuration file."
        )

        @OptionGroup var agent: AgentAndOutputOptions

        func run() throws {
            let configuration = try AgentPaths.configuration()
            guard agent.wantsJSON else { return try StandardOutput.line(configuration) }
            let value: JSONValue = [
                "configuration": .string(configuration),
                "state": .string(try AgentPaths().stateDirectory),
                "socket": .string(try agent.endpoint.socketPath),
            ]
            try StandardOutput.json(value)
        }
    }

    struct ConfigExample: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "example",
            abstract: "Print an annotated configuration to start from."
        )

        @OptionGroup var agent: AgentEndpointOptions

        func run() throws {
            try StandardOutput.write(Array(ExampleConfiguration.text.utf8))
        }
    }
}
