// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import StrictJSON

/// The configuration file: where it is, whether it is right, what it can say.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Check the configuration, or show how to write one.",
        subcommands: [CheckConfig.self, ConfigPath.self, ConfigExample.self]
    )

    struct CheckConfig: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Check the configuration file."
        )

        @Option(help: ArgumentHelp("Check this file instead.", valueName: "file"))
        var config: String?

        func run() throws {
            guard let agent = AgentStarter.executable else {
                throw AgentError(.internal, "tokenagent is neither beside tokenctl nor in PATH")
            }
            let file = config.map { ["--config", $0] } ?? []
            let status = try ChildProcess(agent, ["--check-config"] + file).wait()
            guard status == 0 else { throw ExitCode(status) }
        }
    }

    struct ConfigPath: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "path",
            abstract: "Print the path of the configuration file."
        )

        @OptionGroup var agent: AgentOptions

        func run() throws {
            let paths = try AgentPaths()
            guard agent.wantsJSON else { return try StandardOutput.line(paths.configuration) }
            let value: JSONValue = [
                "configuration": .string(paths.configuration), "state": .string(paths.stateDirectory),
                "socket": .string(paths.socket),
            ]
            try StandardOutput.json(value)
        }
    }

    struct ConfigExample: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "example",
            abstract: "Print an annotated configuration to start from."
        )

        func run() throws {
            try StandardOutput.write(Array(ExampleConfiguration.text.utf8))
        }
    }
}
