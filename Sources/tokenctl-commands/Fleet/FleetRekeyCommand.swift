// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `fleet rekey`, which adds a new key to the key files of a fleet.
struct FleetRekeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Put a new key into the key files of a fleet.",
        discussion: """
            Everything is sealed under the new key from then on; the last three still open what is there. A host \
            that does not get the new file is out. Where no host is to be shut out, --stage the new key, give all hosts \
            the file, and then --activate it: no host is without a key it needs. What is left to do is printed.
            """
    )

    @OptionGroup var files: FleetKeyOptions

    @Flag(help: "Put the new key there without using it yet.")
    var stage = false

    @Flag(help: "Use the key that was staged.")
    var activate = false

    @OptionGroup var agent: AgentOptions

    func validate() throws {
        guard !(stage && activate) else { throw ValidationError("give either --stage or --activate") }
    }

    func run() throws {
        let option = stage ? "--stage-fleet-key" : activate ? "--activate-fleet-key" : "--renew-fleet-key"
        let message = try files.written(by: [option])
        guard !agent.wantsJSON else { return try StandardOutput.json(message.json) }
        let steps =
            stage
            ? FleetRekeyCommand.stagedSteps
            : activate ? FleetRekeyCommand.activatedSteps : FleetRekeyCommand.steps
        let staged = message.staged.map { ", and key \($0) is staged" } ?? " now"
        let text = """
            The fleet \(message.shown(message.fleet)) has key \(message.epoch ?? 0)\(staged):

            \(message.files)

            \(steps)

            See tokenagent-fleet(7).
            """
        try StandardOutput.line(text)
    }

    private static let steps = """
        1. Copy one of the files to each host that stays, in place of the old one, and restart its agent.
           Until then it serves what it has, and nothing that is newer.
        2. On the first keeper that has the new file: tokenctl refresh NAME, for each session that is shared.
           A keeper that has left knows the refresh token of before.
        3. Remove the user of a host that has left from etcd. What it watches there already, it goes on to see, sealed
           under the new key, until the members of etcd are restarted.
        """

    private static let stagedSteps = """
        1. Copy one of the files to each host, in place of the old one, and restart its agent.
        2. When all hosts have it: tokenctl fleet rekey --activate --key-file FILE
        """

    private static let activatedSteps = """
        1. Copy the keepers' file to one keeper, and restart its agent. The other hosts follow by themselves.
        2. Copy the files to the other hosts too, before the key is changed again.
        """
}
