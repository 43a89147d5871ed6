// SPDX-License-Identifier: MIT

import NIOCore

/// A request that waits for the store to be open.
struct Arrival {
    var request: HTTPRequest
    var connection: Connection
}

/// Requests that came while the store was being opened, and others who wait for that.
///
/// Confined to the agent's event loop.
final class Arrivals {
    private let eventLoop: any EventLoop
    private var requests: [Arrival] = []
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Requests that wait.
    var count: Int { requests.count }

    func add(_ request: HTTPRequest, on connection: Connection) {
        requests.append(Arrival(request: request, connection: connection))
    }

    /// The peer of `connection` left.
    func withdraw(_ connection: Connection) {
        if !requests.isEmpty { requests.removeAll { $0.connection === connection } }
    }

    /// Waits until it is known whether the store opens without a person.
    func untilOpened(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { waiters.append($0) }
    }

    /// Waits until it is known whether the store opens without a person, at most `limit`.
    func untilOpened(within limit: TimeAmount, isolation: isolated (any Actor)? = #isolation) async {
        let timeout = endWaiting(after: limit)
        await untilOpened()
        timeout.cancel()
    }

    private func endWaiting(after limit: TimeAmount) -> Scheduled<Void> {
        eventLoop.assumeIsolated().scheduleTask(in: limit) { [self] in endWaiting() }
    }

    private func endWaiting() {
        let waiters = waiters
        self.waiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// It is known now; gives back the requests that waited.
    func finish() -> [Arrival] {
        endWaiting()
        return takeRequests()
    }

    /// Tells those who wait that the agent stops instead.
    func refuse(_ failure: RequestFailure) {
        for arrival in takeRequests() { arrival.connection.answer(Answer(failure)) }
    }

    private func takeRequests() -> [Arrival] {
        defer { requests = [] }
        return requests
    }
}
