// SPDX-License-Identifier: MIT

import TokenCore

/// The inspector of peer processes, for rules and for the audit log.
struct PeerInspector: Sendable {
    /// The maximum number of concurrent inspections for the audit log alone.
    ///
    /// Beyond it, log lines have no programs.
    private static let maximumLooks = 64

    let processes: (any ProcessExamining)?
    private let looks = ActiveInspectionCount()

    init(processes: (any ProcessExamining)?) {
        self.processes = processes
    }

    /// The number of active inspections for the audit log.
    var looksUnderWay: Int { looks.count }

    /// Starts the first inspection of a peer that has just connected, without waiting for it.
    func lookFirst(at connection: Connection) {
        connection.caller.witness.begin { firstLook(at: connection) }
    }

    /// Finds the program that has just connected for the audit log, without waiting for it.
    ///
    /// The process number is sufficient: a process that started before the connection is the one that
    /// connected.
    func see(_ connection: Connection, in agent: isolated SessionAgent) {
        guard processes != nil, looks.count < Self.maximumLooks else { return }
        looks.count += 1
        let look = connection.caller.witness.begin { firstLook(at: connection) }
        Task {
            let facts = await look.value
            looks.count -= 1
            guard let facts, facts.startedAt <= connection.caller.acceptedAt else { return }
            connection.caller.witness.recordSeen(facts) { .made(for: connection.caller) }
            _ = agent
        }
    }

    private func firstLook(at connection: Connection) -> Task<PeerIdentity?, Never> {
        let process = connection.caller.peer.processID
        return Task { try? await processes?.examine(process, digesting: []) }
    }

    /// Inspects the peer now and updates its identity, for the rules that are active when the inspection
    /// ends.
    func look(at connection: Connection, in agent: isolated SessionAgent) async {
        let first = await connection.caller.witness.begin { firstLook(at: connection) }.value
        let process = PeerProcess(of: connection)
        defer { process.close() }
        var digested: Set<String>
        var found: PeerIdentity?
        repeat {
            digested = agent.configuration.rules.digested
            found = try? await processes?.examine(connection.caller.peer.processID, digesting: digested)
        } while digested != agent.configuration.rules.digested
        connection.caller.witness.identify(first, found.flatMap { process.matches($0) ? $0 : nil })
    }

    /// Inspects the peer, then calls `proceed` if it is still waiting.
    func identify(
        _ connection: Connection,
        in agent: isolated SessionAgent,
        then proceed: @escaping @Sendable (isolated SessionAgent) -> Void
    ) {
        Task {
            await look(at: connection, in: agent)
            guard connection.state == .answering else { return }
            connection.caller.witness.beginRequest()
            proceed(agent)
        }
    }
}

/// The number of active inspections.
private final class ActiveInspectionCount: @unchecked Sendable {
    // Unchecked: confined to the agent's event loop.
    var count = 0
}
