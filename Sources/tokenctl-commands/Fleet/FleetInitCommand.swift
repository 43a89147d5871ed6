// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `fleet init`, which creates the keys of a new fleet.
struct FleetInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make the key files of a new fleet.",
        discussion: """
            Writes FILE for keepers, which use refresh tokens, and FILE.reader for readers, which open access tokens \
            only. Neither may exist. What is left to do is printed.
            """
    )

    @OptionGroup var files: FleetKeyOptions

    @Option(help: ArgumentHelp("What people call the fleet.", valueName: "name"))
    var name = "fleet"

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let message = try files.written(by: ["--make-fleet-key", name])
        guard !agent.wantsJSON else { return try StandardOutput.json(message.json) }
        try StandardOutput.line(FleetInitCommand.text(message))
    }

    private static func text(_ message: FleetKeyMessage) -> String {
        let name = message.shown(message.fleet)
        return """
            The keys of the fleet \(name) are made:

            \(message.files)

            1. Give the hosts' users in etcd the keys that begin with \(message.shown(message.prefix))
            2. Copy one of the files to each host, readable by its user alone.
            3. Write into config.toml there, with your etcd and the path of the file:

               [fleet]
               name = "\(name)"
               role = "keeper"    # or "reader"
               endpoints = ["https://etcd1.example.com:2379"]
               fleet_key_file = "\(message.shown(message.keepersFile))"

               and fleet = true into the table of each session that the hosts share.
            4. Try it with tokenctl config check, and restart the agents.

            See tokenagent-fleet(7).
            """
    }
}
