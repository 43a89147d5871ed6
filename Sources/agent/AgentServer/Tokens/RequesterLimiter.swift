// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The limits on tokens that are being obtained for each requester, so that none keeps the others waiting.
///
/// Each `[[socket]]`, and each program per session, gets one token of other scopes or another audience at a
/// time. All sockets together get one early refresh per session and minute.
///
/// Confined to the agent's event loop.
final class RequesterLimiter {
    enum Admission {
        /// No other token is being obtained for the requester.
        case begins
        /// The request waits, and is returned by ``end(for:)`` or ``takeOverdue(at:)``.
        case waits
        /// Another token is being obtained, and the request does not wait.
        case isTooLate
    }

    /// The requester that several connections may share.
    private enum Requester: Hashable {
        case socket(String)
        /// All connections of one process, for one session: tokens of different sessions are obtained
        /// concurrently.
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

    /// A token of other scopes or another audience that is being obtained for a requester.
    struct PendingToken: Equatable {
        var session: SessionName
        var variant: TokenVariant
    }

    private struct RequesterQueue {
        var turn: PendingToken
        var connections: Set<ObjectIdentifier>
        var waiting: [DeferredTokenRequest] = []
    }

    /// The minimum time between two refreshes of a valid token for peers of sockets: 60 seconds.
    private static let refreshPause = Duration.seconds(60)

    private let timekeeper: any Timekeeper
    private let eventLoop: any EventLoop
    /// The action when a request may have waited too long.
    var onOverdue: () -> Void = {}
    private var uses: [Requester: RequesterQueue] = [:]
    /// The requester of each connection that has a turn or waits for one.
    private var requesters: [ObjectIdentifier: Requester] = [:]
    /// The time of the latest refresh of a valid token for peers, by session.
    private var refreshes: [SessionName: Instant] = [:]

    init(timekeeper: any Timekeeper, eventLoop: any EventLoop) {
        self.timekeeper = timekeeper
        self.eventLoop = eventLoop
    }

    /// Admits a request, or makes it wait for its turn.
    func admit(_ waiting: DeferredTokenRequest) -> Admission {
        let connection = waiting.call.connection
        let requester = Requester(waiting.call)
        guard !begin(waiting.turn, for: connection, of: requester) else { return .begins }
        let timeout = waiting.deadline - timekeeper.now
        guard timeout > .zero else { return .isTooLate }
        connection.awaited = .turn
        requesters[ObjectIdentifier(connection)] = requester
        uses[requester]?.waiting.append(waiting)
        eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(timeout.saturatedNanoseconds)) {
            [weak self] in
            self?.onOverdue()
        }
        return .waits
    }

    /// Begins the turn of `connection` if no other token is being obtained for its requester.
    ///
    /// - Returns: `true` if the turn has begun.
    private func begin(_ turn: PendingToken, for connection: Connection, of requester: Requester) -> Bool {
        let identifier = ObjectIdentifier(connection)
        if let use = uses[requester] {
            guard use.turn == turn else { return false }
            uses[requester]?.connections.insert(identifier)
        } else {
            uses[requester] = RequesterQueue(turn: turn, connections: [identifier])
        }
        requesters[identifier] = requester
        return true
    }

    /// Ends the turn of `connection`, which was answered or closed.
    ///
    /// - Returns: The requests whose turn begins.
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

    /// Removes and returns the requests whose deadline has passed.
    func takeOverdue(at now: Instant) -> [DeferredTokenRequest] {
        takeWaiting { $0.deadline <= now }
    }

    /// The number of requests that wait for their turn.
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

    /// Returns whether a peer of a socket may have a valid token refreshed.
    ///
    /// If it may, other peers of any socket may not for a minute.
    func mayRefresh(_ session: SessionName, at now: Instant) -> Bool {
        refreshes = refreshes.filter { now - $0.value < Self.refreshPause }
        guard refreshes[session] == nil else { return false }
        refreshes[session] = now
        return true
    }

    /// Returns the time until the next peer may have the session refreshed.
    func delay(before session: SessionName, at now: Instant) -> Duration {
        refreshes[session].map { $0 + Self.refreshPause - now } ?? .zero
    }
}

extension DeferredTokenRequest {
    /// The turn that the request waits for.
    fileprivate var turn: RequesterLimiter.PendingToken {
        RequesterLimiter.PendingToken(session: call.session, variant: query.variant)
    }
}
