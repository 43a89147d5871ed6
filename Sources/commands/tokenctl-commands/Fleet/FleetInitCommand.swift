// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `fleet init`, which creates the keys of a new fleet.
struct FleetInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create the key files of a new fleet.",
        discussion: """
            Writes FILE for keepers, which use refresh tokens, and FILE.reader for readers, which can only decrypt \
            access tokens. Neither file may exist. Prints the remaining steps.
            """
    )

    @OptionGroup var files: FleetKeyOptions

    @Option(help: ArgumentHelp("The name of the fleet.", valueName: "name"))
    var name = "fleet"

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        let message = try files.written(by: ["--make-fleet-key", name])
        guard !agent.wantsJSON else { return try StandardOutput.json(message.json) }
        try StandardOutput.line(FleetInitCommand.text(message))
    }

    private static func text(_ message: FleetKeyFilesMessage) -> String {
        let name = message.shown(message.fleet)
        return """
            Created the keys of the fleet \(name):

            \(message.files)

            1. In etcd, give the hosts' users access to the keys that begin with \(message.shown(message.prefix))
            2. Copy one of the files to each host, readable only by its user.
            3. Add to config.toml there, with your etcd and the path of the file:

               [fleet]
               name = "\(name)"
               role = "keeper"    # or "reader"
               endpoints = ["https://etcd1.example.com:2379"]
               fleet_key_file = "\(message.shown(message.keepersFile))"

               and fleet = true to the table of each session that the hosts share.
            4. Run tokenctl config check there, and restart the agents.

            See tokenagent-fleet(7).
            """
    }
}
