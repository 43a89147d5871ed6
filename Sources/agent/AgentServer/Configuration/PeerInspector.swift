// SPDX-License-Identifier: MIT

import TokenCore

/// The inspector of peer processes, for rules and for the audit log.
///
/// Confined to the agent's event loop.
final class PeerInspector {
    /// The maximum number of concurrent inspections for the audit log alone.
    ///
    /// Beyond it, log lines have no programs.
    private static let maximumLooks = 64

    let processes: (any ProcessExamining)?
    private let configuration: LiveConfiguration
    private let tasks: LoopTasks
    /// The number of active inspections for the audit log.
    private(set) var looksUnderWay = 0

    init(processes: (any ProcessExamining)?, configuration: LiveConfiguration, tasks: LoopTasks) {
        self.processes = processes
        self.configuration = configuration
        self.tasks = tasks
    }

    /// Starts the first inspection of a peer that has just connected, without waiting for it.
    func lookFirst(at connection: Connection) {
        connection.caller.witness.begin { firstLook(at: connection) }
    }

    /// Finds the program that has just connected for the audit log, without waiting for it.
    ///
    /// The process number is sufficient: a process that started before the connection is the one that
    /// connected.
    func see(_ connection: Connection) {
        guard processes != nil, looksUnderWay < Self.maximumLooks else { return }
        looksUnderWay += 1
        let look = connection.caller.witness.begin { firstLook(at: connection) }
        tasks.start {
            let facts = await look.value
            self.looksUnderWay -= 1
            guard let facts, facts.startedAt <= connection.caller.acceptedAt else { return }
            connection.caller.witness.recordSeen(facts) { .made(for: connection.caller) }
        }
    }

    private func firstLook(at connection: Connection) -> Task<PeerIdentity?, Never> {
        let process = connection.caller.peer.processID
        return Task { [processes] in try? await processes?.examine(process, digesting: []) }
    }

    /// Inspects the peer now and updates its identity, for the rules that are active when the inspection
    /// ends.
    func look(at connection: Connection) async {
        let first = await connection.caller.witness.begin { firstLook(at: connection) }.value
        let process = PeerProcess(of: connection)
        defer { process.close() }
        var digested: Set<String>
        var found: PeerIdentity?
        repeat {
            digested = configuration.rules.digested
            found = try? await processes?.examine(connection.caller.peer.processID, digesting: digested)
        } while digested != configuration.rules.digested
        connection.caller.witness.identify(first, found.flatMap { process.matches($0) ? $0 : nil })
    }

    /// Inspects the peer, then calls `proceed` if it is still waiting.
    func identify(_ connection: Connection, then proceed: @escaping () -> Void) {
        tasks.start {
            await self.look(at: connection)
            guard connection.state == .answering else { return }
            connection.caller.witness.beginRequest()
            proceed()
        }
    }
}
