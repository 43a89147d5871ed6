// SPDX-License-Identifier: MIT

import TokenCore

/// Finds out which process is at the other end of a connection, for rules and for the audit log.
struct PeerInspector: Sendable {
    /// Looks for the audit log alone that may be under way; a crowd of connections gets lines without programs.
    private static let mostLooks = 64

    let processes: (any ProcessExamining)?
    private let looks = LookCount()

    init(processes: (any ProcessExamining)?) {
        self.processes = processes
    }

    /// How many peers are being looked at for the audit log.
    var looksUnderWay: Int { looks.count }

    /// Begins the first look at a peer that has just connected; nobody waits for it.
    func lookFirst(at connection: Connection) {
        connection.caller.witness.begin { firstLook(at: connection) }
    }

    /// Finds out for the audit log which program has just connected; nobody waits for it.
    ///
    /// The number of a process is enough: a process that began before the connection came is the one that connected.
    func see(_ connection: Connection, in agent: isolated SessionAgent) {
        guard processes != nil, looks.count < Self.mostLooks else { return }
        looks.count += 1
        let look = connection.caller.witness.begin { firstLook(at: connection) }
        Task {
            let facts = await look.value
            looks.count -= 1
            guard let facts, facts.startedAt <= connection.caller.acceptedAt else { return }
            connection.caller.witness.noteSeen(facts) { .made(for: connection.caller) }
            _ = agent
        }
    }

    private func firstLook(at connection: Connection) -> Task<PeerIdentity?, Never> {
        let process = connection.caller.peer.processID
        return Task { try? await processes?.examine(process, digesting: []) }
    }

    /// Looks at the peer now and settles what is known of it, for the rules in force at the end of the look.
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
        connection.caller.witness.identify(first, found.flatMap { process.isStill($0) ? $0 : nil })
    }

    /// Finds out who is at the other end, then goes on if the peer still waits.
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

/// How many looks are under way.
private final class LookCount: @unchecked Sendable {
    // Unchecked: confined to the agent's event loop.
    var count = 0
}
