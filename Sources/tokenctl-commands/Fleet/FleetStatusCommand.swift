// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `fleet status`, which shows the hosts, shared sessions and etcd members of the fleet.
struct FleetStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the hosts, the shared sessions and the state of etcd.",
        discussion: "Exit status 5 if etcd does not answer."
    )

    @OptionGroup var agent: AgentOptions

    func run() throws {
        try FleetReport.show(answerTo: AgentRequest(.get, "fleet"), of: agent)
    }
}

/// The command `fleet join`, which rejoins sessions that were left and shows the state of the fleet.
struct FleetJoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Take part in the fleet again, after fleet leave or logout --local.",
        discussion: """
            A host joins for the first time by its configuration, see tokenagent-fleet(7). What the fleet looks like \
            from here is shown afterwards.
            """
    )

    @OptionGroup var wish: FleetSessionOptions

    func run() throws { try wish.send("join") }
}

/// The command `fleet leave`, which ends the participation of this host without affecting the other hosts'
/// login.
struct FleetLeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Forget shared sessions at this host alone; the other hosts go on.",
        discussion: """
            The tokens are forgotten here and not revoked. The host still has the fleet's key: see fleet remove and \
            fleet rekey for a host that is given away.
            """
    )

    @OptionGroup var wish: FleetSessionOptions

    func run() throws { try wish.send("leave") }
}

/// The command `fleet repair`, which repairs the data in etcd from this host's records.
struct FleetRepairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Put right in etcd what is older than here, or does not open.",
        discussion: """
            Records that are older than this host's are put right without being asked. This command does it at once, and \
            deletes values that do not open. Values under a key that this host does not have are left alone. Whether the \
            hosts have to wait for an answer afterwards is printed.
            """
    )

    @OptionGroup var wish: FleetSessionOptions

    func run() throws { try wish.send("repair") }
}

/// The command `fleet remove`, which removes a host from the list and refreshes all sessions.
struct FleetRemoveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take a host out of the fleet, and refresh every session at once.",
        discussion: """
            The host keeps the fleet's key until the others have another: make one with fleet rekey, give it to them, \
            restart them, and then remove the host. What is left to do is printed.
            """
    )

    @Argument(help: ArgumentHelp("Its name or its number, as fleet status shows them.", valueName: "host"))
    var host: String

    @OptionGroup var agent: AgentOptions

    func run() throws {
        var body = JSONBody<FleetRemovalMembers>()
        body.add(\.host, host)
        let request = AgentRequest(.post, "fleet", "remove", body: body.finished())
        try FleetReport.show(answerTo: request, of: agent)
    }
}

/// The option for the shared sessions of a command.
struct FleetSessionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("One session; all shared ones without it.", valueName: "session"))
    var session: SessionArgument?

    @OptionGroup var agent: AgentOptions

    func send(_ order: String) throws {
        var body = JSONBody<FleetSessionWishMembers>()
        if let session { body.add(\.session, session.name) }
        let request = AgentRequest(.post, "fleet", order, body: body.finished())
        try FleetReport.show(answerTo: request, of: agent)
    }
}
