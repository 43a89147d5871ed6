// SPDX-License-Identifier: MIT

import ArgumentParser

/// The command `fleet`, with subcommands for sessions that several hosts share.
struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Manage sessions that several hosts share.",
        subcommands: [
            FleetInitCommand.self, FleetStatusCommand.self, FleetJoinCommand.self, FleetRepairCommand.self,
            FleetLeaveCommand.self, FleetRemoveHostCommand.self, FleetRekeyCommand.self,
        ]
    )
}
