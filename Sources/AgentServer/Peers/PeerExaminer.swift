// SPDX-License-Identifier: MIT

import TokenCore

/// Finds out which process is at the other end of a connection, where rules ask for it.
struct PeerExaminer: Sendable {
    let processes: (any ProcessExamining)?

    /// Begins the first look at a peer that has just connected; nobody waits for it.
    func lookFirst(at connection: Connection) {
        connection.caller.witness.begin { firstLook(at: connection) }
    }

    private func firstLook(at connection: Connection) -> Task<PeerFacts?, Never> {
        let process = connection.caller.peer.processID
        return Task { try? await processes?.examine(process, digesting: []) }
    }

    /// Looks at the peer now and settles what is known of it, for the rules in force at the end of the look.
    func look(at connection: Connection, in agent: isolated SessionAgent) async {
        let first = await connection.caller.witness.begin { firstLook(at: connection) }.value
        let process = PeerProcess(of: connection)
        defer { process.close() }
        var digested: Set<String>
        var found: PeerFacts?
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
