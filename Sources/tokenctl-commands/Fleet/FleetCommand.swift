// SPDX-License-Identifier: MIT

import ArgumentParser

/// The command `fleet`, with subcommands for sessions that several hosts share.
struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Set up hosts that share their sessions.",
        subcommands: [
            FleetInitCommand.self, FleetStatusCommand.self, FleetJoinCommand.self, FleetRepairCommand.self,
            FleetLeaveCommand.self, FleetRemoveCommand.self, FleetRekeyCommand.self,
        ]
    )
}
