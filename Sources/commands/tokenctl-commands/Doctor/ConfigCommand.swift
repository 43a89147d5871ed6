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
        subcommands: [
            ConfigCheckCommand.self, ConfigShowCommand.self, ConfigPath.self, ConfigExample.self,
        ]
    )

    struct ConfigPath: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "path",
            abstract: "Print the path of the configuration file.",
            discussion: "The file of the running agent, or else the one that an agent would use."
        )

        @OptionGroup var agent: AgentAndOutputOptions

        func run() throws {
            let usual = try AgentPaths.configuration()
            let running = agent.endpoint.runningAgent
            let configuration = running?.configuration ?? usual
            if agent.wantsJSON {
                let value: JSONValue = [
                    "configuration": .string(configuration),
                    "state": .string(try running?.store ?? AgentPaths().stateDirectory),
                    "socket": .string(try agent.endpoint.socketPath),
                ]
                try StandardOutput.json(value)
            } else {
                try StandardOutput.line(configuration)
            }
            guard configuration != usual else { return }
            StandardError.write(
                "tokenctl: the running agent uses \(TerminalText.escaped(configuration)); "
                    + "this environment names \(TerminalText.escaped(usual))\n"
            )
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
