// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// Puts a new key before those of a fleet.
struct FleetRekeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Put a new key into the key files of a fleet.",
        discussion: """
            Everything is sealed under the new key from then on; the last three still open what is there. A host \
            that does not get the new file is out. What is left to do is printed.
            """
    )

    @OptionGroup var files: FleetKeyOptions

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let message = try files.written(by: ["--renew-fleet-key"])
        guard !agent.wantsJSON else { return try StandardOutput.json(message.json) }
        try StandardOutput.line(FleetRekeyCommand.text(message))
    }

    private static func text(_ message: FleetKeyMessage) -> String {
        """
        The fleet \(message.shown(message.fleet)) has key \(message.epoch ?? 0) now:

        \(message.files)

        1. Copy one of the files to each host that stays, in place of the old one, and restart its agent.
           Until then it serves what it has, and nothing that is newer.
        2. On the first keeper that has the new file: tokenctl refresh NAME, for each session that is shared.
           A keeper that has left knows the refresh token of before.
        3. Remove the user of a host that has left from etcd. What it watches there already, it goes on to see, sealed
           under the new key, until the members of etcd are restarted.

        See tokenagent-fleet(7).
        """
    }
}
