// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `fleet status`, which shows the hosts, shared sessions and etcd members of the fleet.
struct FleetStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the hosts, the shared sessions and the state of etcd.",
        discussion: "Exit status 5 if etcd is unreachable."
    )

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        try FleetReport.show(answerTo: AgentRequest(.get, "fleet"), of: agent)
    }
}

/// The command `fleet join`, which rejoins sessions that were left and shows the state of the fleet.
struct FleetJoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Rejoin the fleet after fleet leave or logout --local.",
        discussion: """
            For the first time, a host joins by its configuration, see tokenagent-fleet(7). Prints the state of the \
            fleet.
            """
    )

    @OptionGroup var options: FleetSessionOptions

    func run() throws { try options.send("join") }
}

/// The command `fleet leave`, which ends the participation of this host without affecting the other hosts'
/// login.
struct FleetLeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Log out of shared sessions only on this host.",
        discussion: """
            The tokens are erased here and not revoked. The host still has the fleet's key: for a host that is given \
            away, see fleet remove and fleet rekey.
            """
    )

    @OptionGroup var options: FleetSessionOptions

    func run() throws { try options.send("leave") }
}

/// The command `fleet repair`, which repairs the data in etcd from this host's records.
struct FleetRepairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Repair data in etcd that is older than here or cannot be decrypted.",
        discussion: """
            The agent repairs records that are older than its own automatically. This command does it at once, and \
            deletes values that cannot be decrypted. Values with a key that this host does not have stay. Prints \
            whether the hosts have to wait for a response afterwards.
            """
    )

    @OptionGroup var options: FleetSessionOptions

    func run() throws { try options.send("repair") }
}

/// The command `fleet remove`, which removes a host from the list and refreshes all sessions.
struct FleetRemoveHostCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a host from the fleet, and refresh every session at once.",
        discussion: """
            The host keeps the fleet's key until the others have a new one: create one with fleet rekey, copy it to \
            them, restart their agents, and then remove the host. Prints the remaining steps.
            """
    )

    @Argument(help: ArgumentHelp("The name or number of the host in fleet status.", valueName: "host"))
    var host: String

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        var body = AgentRequestBody<FleetRemovalRequestMembers>()
        body.add(\.host, host)
        let request = AgentRequest(.post, "fleet", "remove", body: body.finished())
        try FleetReport.show(answerTo: request, of: agent)
    }
}

/// The option for the shared sessions of a command.
struct FleetSessionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("One session instead of all shared sessions.", valueName: "session"))
    var session: SessionArgument?

    @OptionGroup var agent: AgentAndOutputOptions

    func send(_ order: String) throws {
        var body = AgentRequestBody<FleetSessionRequestMembers>()
        if let session { body.add(\.session, session.name) }
        let request = AgentRequest(.post, "fleet", order, body: body.finished())
        try FleetReport.show(answerTo: request, of: agent)
    }
}
