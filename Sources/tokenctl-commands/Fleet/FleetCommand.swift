// SPDX-License-Identifier: MIT

import ArgumentParser

/// Sessions that many hosts share.
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
