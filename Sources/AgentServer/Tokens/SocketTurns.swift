// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// What is being made for the peers of each `[[socket]]`, so that none of these peers costs the owner much: one token at
/// a time for each socket, and for all sockets one refresh of a session a minute.
///
/// Confined to the agent's event loop.
final class SocketTurns {
    enum Admission {
        /// Nothing else is being made for the socket.
        case begins
        /// The request comes later, in ``end(for:)`` or ``takeOverdue(at:)``.
        case waits
        /// Something else is being made, and the request does not wait.
        case isTooLate
    }

    /// A token of other scopes or another audience that is being made for a socket.
    struct Turn: Equatable {
        var session: SessionName
        var variant: TokenVariant
    }

    private struct Use {
        var turn: Turn
        var connections: Set<ObjectIdentifier>
        var waiting: [PostponedRequest] = []
    }

    /// Shortest time between two refreshes of a session whose token is good, for peers of sockets.
    private static let refreshPause = Duration.seconds(60)

    private let eventLoop: any EventLoop
    private var uses: [String: Use] = [:]
    /// When peers last had a session refreshed whose token was good.
    private var refreshes: [SessionName: Instant] = [:]

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Gives a request its turn, or has it wait.
    func admit(_ waiting: PostponedRequest, in agent: isolated SessionAgent) -> Admission {
        let connection = waiting.call.connection
        guard let path = connection.caller.restriction?.name,
            !begin(waiting.turn, for: connection, at: path)
        else { return .begins }
        let patience = waiting.deadline - agent.now
        guard patience > .zero else { return .isTooLate }
        connection.awaited = .turn
        uses[path]?.waiting.append(waiting)
        eventLoop.scheduleTask(in: .nanoseconds(patience.saturatedNanoseconds)) { [weak agent] in
            agent?.assumeIsolated { $0.requests.tokens.endOverdueTurns(in: $0) }
        }
        return .waits
    }

    /// Whether `connection` may have the token of `turn` made now: nothing else is being made for its socket.
    private func begin(_ turn: Turn, for connection: Connection, at path: String) -> Bool {
        guard let use = uses[path] else {
            uses[path] = Use(turn: turn, connections: [ObjectIdentifier(connection)])
            return true
        }
        guard use.turn == turn else { return false }
        uses[path]?.connections.insert(ObjectIdentifier(connection))
        return true
    }

    /// Takes `connection`, which has its answer or is gone, out of its turn.
    /// - Returns: requests whose turn it is now.
    func end(for connection: Connection) -> [PostponedRequest] {
        guard let path = connection.caller.restriction?.name, var use = uses[path] else { return [] }
        use.waiting.removeAll { $0.call.connection === connection }
        use.connections.remove(ObjectIdentifier(connection))
        defer { uses[path] = use.connections.isEmpty ? nil : use }
        guard use.connections.isEmpty, let next = use.waiting.first else { return [] }
        use.turn = next.turn
        let begun = use.waiting.filter { $0.turn == next.turn }
        use.waiting.removeAll { $0.turn == next.turn }
        use.connections = Set(begun.map { ObjectIdentifier($0.call.connection) })
        return begun
    }

    /// Takes out the requests that have waited as long as they may.
    func takeOverdue(at now: Instant) -> [PostponedRequest] {
        takeWaiting { $0.deadline <= now }
    }

    /// How many requests wait for their turn.
    var waitingCount: Int { uses.values.map(\.waiting.count).reduce(0, +) }

    func takeAll() -> [PostponedRequest] { takeWaiting { _ in true } }

    private func takeWaiting(where isMeant: (PostponedRequest) -> Bool) -> [PostponedRequest] {
        var taken: [PostponedRequest] = []
        for path in uses.keys {
            taken += uses[path]?.waiting.filter(isMeant) ?? []
            uses[path]?.waiting.removeAll(where: isMeant)
        }
        return taken
    }

    /// Whether a peer of a socket may have the session refreshed although its token is good; after a yes, the next of any
    /// socket may in a minute.
    func mayRefresh(_ session: SessionName, at now: Instant) -> Bool {
        refreshes = refreshes.filter { now - $0.value < Self.refreshPause }
        guard refreshes[session] == nil else { return false }
        refreshes[session] = now
        return true
    }

    /// How long until the next peer may.
    func pause(before session: SessionName, at now: Instant) -> Duration {
        refreshes[session].map { $0 + Self.refreshPause - now } ?? .zero
    }
}

extension PostponedRequest {
    /// What it waits for at a socket.
    fileprivate var turn: SocketTurns.Turn {
        SocketTurns.Turn(session: call.session, variant: query.variant)
    }
}
