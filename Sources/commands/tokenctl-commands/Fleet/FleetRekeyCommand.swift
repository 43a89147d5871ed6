// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `fleet rekey`, which adds a new key to the key files of a fleet.
struct FleetRekeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Add a new key to the key files of a fleet.",
        discussion: """
            New data is encrypted with the new key; the last three keys can still decrypt existing data. A host \
            without the new file is excluded. To exclude no host, --stage the new key, copy the file to all hosts, \
            and then --activate it. Prints the remaining steps.
            """
    )

    @OptionGroup var files: FleetKeyOptions

    @Flag(help: "Add the new key without using it yet.")
    var stage = false

    @Flag(help: "Use the staged key.")
    var activate = false

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard !(stage && activate) else {
            throw ValidationError("--stage cannot be combined with --activate")
        }
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
        1. On each host that stays, replace the old file with one of these, and restart its agent.
           Until then it serves the tokens that it has, and no newer ones.
        2. On the first keeper with the new file, run tokenctl refresh NAME for each shared session.
           A keeper that has left knows the previous refresh token.
        3. Remove the user of a host that has left from etcd. Until the members of etcd are restarted, its
           watches still receive data, encrypted with the new key.
        """

    private static let stagedSteps = """
        1. On each host, replace the old file with one of these, and restart its agent.
        2. When all hosts have it: tokenctl fleet rekey --activate --key-file FILE
        """

    private static let activatedSteps = """
        1. Copy the keepers' file to one keeper, and restart its agent. The other hosts follow automatically.
        2. Copy the files to the other hosts too, before the key is changed again.
        """
}
