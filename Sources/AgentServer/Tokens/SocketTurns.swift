// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The turns that requests at `[[socket]]`s take: one token at a time is made for each socket's peers.
///
/// Confined to the agent's event loop.
final class SocketTurns {
    enum Admission {
        /// Nothing else is being made for the socket.
        case begins
        /// It comes later, in ``end(for:)`` or ``takeOverdue(at:)``.
        case waits
        /// Something else is being made, and the request does not wait.
        case isTooLate
    }

    private let eventLoop: any EventLoop
    private var use = SocketUse()

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Requests whose turn has not come.
    var waitingCount: Int { use.waitingCount }

    /// Has a request take its turn.
    func take(_ waiting: SocketUse.Waiting, in agent: isolated SessionAgent) -> Admission {
        let connection = waiting.call.connection
        guard let path = connection.restrictedPath, !use.begin(waiting.turn, for: connection, at: path) else {
            return .begins
        }
        let patience = waiting.deadline - agent.now
        guard patience > .zero else { return .isTooLate }
        connection.awaited = .turn
        use.add(waiting, at: path)
        eventLoop.scheduleTask(in: .nanoseconds(patience.saturatedNanoseconds)) { [weak agent] in
            agent?.assumeIsolated { $0.requests.tokens.endOverdueTurns(in: $0) }
        }
        return .waits
    }

    /// `connection` has its answer, or is gone; gives back requests whose turn it is now.
    func end(for connection: Connection) -> [SocketUse.Waiting] {
        connection.restrictedPath.map { use.end(for: connection, at: $0) } ?? []
    }

    /// Takes out requests that have waited as long as they may.
    func takeOverdue(at now: Instant) -> [SocketUse.Waiting] {
        use.takeOverdue(at: now)
    }

    /// Takes out all requests whose turn has not come.
    func takeAll() -> [SocketUse.Waiting] {
        use.takeAll()
    }

    /// Whether a report at the socket may have the session refreshed; then the next may a minute later.
    func mayRefresh(_ session: SessionName, forReportAt path: String, at now: Instant) -> Bool {
        use.mayRefresh(session, forReportAt: path, at: now)
    }
}
