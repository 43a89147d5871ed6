// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The tokens that are being made for each requester.
///
/// So that no requester keeps the others waiting, it is one token of other scopes or another audience at a time for each
/// `[[socket]]`, and for each program and session. For all sockets together it is one refresh of a session a minute.
///
/// Confined to the agent's event loop.
final class SocketRequestLimiter {
    enum Admission {
        /// Nothing else is being made for the requester.
        case begins
        /// The request comes later, in ``end(for:)`` or ``takeOverdue(at:)``.
        case waits
        /// Something else is being made, and the request does not wait.
        case isTooLate
    }

    /// Those who share a turn.
    private enum Requester: Hashable {
        case socket(String)
        /// All connections of one process, for one session: tokens of different sessions are made at the same time.
        case program(Int32, SessionName)

        init(_ call: PendingTokenRequest) {
            let caller = call.connection.caller
            if let restriction = caller.restriction {
                self = .socket(restriction.name)
            } else {
                self = .program(caller.peer.processID, call.session)
            }
        }
    }

    /// A token of other scopes or another audience that is being made for a requester.
    struct Turn: Equatable {
        var session: SessionName
        var variant: TokenVariant
    }

    private struct Use {
        var turn: Turn
        var connections: Set<ObjectIdentifier>
        var waiting: [DeferredTokenRequest] = []
    }

    /// Shortest time between two refreshes of a session whose token is good, for peers of sockets.
    private static let refreshPause = Duration.seconds(60)

    private let eventLoop: any EventLoop
    private var uses: [Requester: Use] = [:]
    /// The requester of each connection that has a turn or waits for one.
    private var requesters: [ObjectIdentifier: Requester] = [:]
    /// When peers last had a session refreshed whose token was good.
    private var refreshes: [SessionName: Instant] = [:]

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Gives a request its turn, or has it wait.
    func admit(_ waiting: DeferredTokenRequest, in agent: isolated SessionAgent) -> Admission {
        let connection = waiting.call.connection
        let requester = Requester(waiting.call)
        guard !begin(waiting.turn, for: connection, of: requester) else { return .begins }
        let patience = waiting.deadline - agent.now
        guard patience > .zero else { return .isTooLate }
        connection.awaited = .turn
        requesters[ObjectIdentifier(connection)] = requester
        uses[requester]?.waiting.append(waiting)
        eventLoop.scheduleTask(in: .nanoseconds(patience.saturatedNanoseconds)) { [weak agent] in
            agent?.assumeIsolated { $0.requests.tokens.endOverdueTurns(in: $0) }
        }
        return .waits
    }

    /// Whether `connection` may have the token of `turn` made now: nothing else is being made for its requester.
    private func begin(_ turn: Turn, for connection: Connection, of requester: Requester) -> Bool {
        let identifier = ObjectIdentifier(connection)
        if let use = uses[requester] {
            guard use.turn == turn else { return false }
            uses[requester]?.connections.insert(identifier)
        } else {
            uses[requester] = Use(turn: turn, connections: [identifier])
        }
        requesters[identifier] = requester
        return true
    }

    /// Takes `connection`, which has its answer or is gone, out of its turn.
    /// - Returns: requests whose turn it is now.
    func end(for connection: Connection) -> [DeferredTokenRequest] {
        guard let requester = requesters.removeValue(forKey: ObjectIdentifier(connection)),
            var use = uses[requester]
        else { return [] }
        use.waiting.removeAll { $0.call.connection === connection }
        use.connections.remove(ObjectIdentifier(connection))
        defer { uses[requester] = use.connections.isEmpty ? nil : use }
        guard use.connections.isEmpty, let next = use.waiting.first else { return [] }
        use.turn = next.turn
        let begun = use.waiting.filter { $0.turn == next.turn }
        use.waiting.removeAll { $0.turn == next.turn }
        use.connections = Set(begun.map { ObjectIdentifier($0.call.connection) })
        return begun
    }

    /// Takes out the requests that have waited as long as they may.
    func takeOverdue(at now: Instant) -> [DeferredTokenRequest] {
        takeWaiting { $0.deadline <= now }
    }

    /// How many requests wait for their turn.
    var waitingCount: Int { uses.values.map(\.waiting.count).reduce(0, +) }

    func takeAll() -> [DeferredTokenRequest] { takeWaiting { _ in true } }

    private func takeWaiting(where isMeant: (DeferredTokenRequest) -> Bool) -> [DeferredTokenRequest] {
        var taken: [DeferredTokenRequest] = []
        for requester in uses.keys {
            taken += uses[requester]?.waiting.filter(isMeant) ?? []
            uses[requester]?.waiting.removeAll(where: isMeant)
        }
        for request in taken { requesters[ObjectIdentifier(request.call.connection)] = nil }
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

extension DeferredTokenRequest {
    /// What it waits for.
    fileprivate var turn: SocketRequestLimiter.Turn {
        SocketRequestLimiter.Turn(session: call.session, variant: query.variant)
    }
}
