// SPDX-License-Identifier: MIT

import NIOCore

/// A request that waits for the store to be open.
struct QueuedRequest {
    var request: HTTPRequest
    var connection: Connection
}

/// Requests that came while the store was being opened, and others who wait for that.
///
/// Confined to the agent's event loop.
final class UnlockQueue {
    private let waiters: LoopWaiters
    private var requests: [QueuedRequest] = []

    init(eventLoop: any EventLoop) {
        waiters = LoopWaiters(eventLoop: eventLoop)
    }

    /// How many requests wait.
    var count: Int { requests.count }

    func add(_ request: HTTPRequest, on connection: Connection) {
        requests.append(QueuedRequest(request: request, connection: connection))
    }

    /// The peer of `connection` left.
    func withdraw(_ connection: Connection) {
        if !requests.isEmpty { requests.removeAll { $0.connection === connection } }
    }

    /// Waits until it is known whether the store opens without a person.
    func untilOpened(isolation: isolated (any Actor)? = #isolation) async {
        await waiters.wait()
    }

    /// Waits until it is known whether the store opens without a person, at most `limit`.
    func untilOpened(within limit: TimeAmount, isolation: isolated (any Actor)? = #isolation) async {
        await waiters.wait(atMost: limit)
    }

    /// Ends the wait, now that it is known; returns the requests that waited.
    func finish() -> [QueuedRequest] {
        waiters.resumeAll()
        return takeRequests()
    }

    /// Refuses the requests that wait: the agent stops instead.
    func refuse(_ failure: RequestFailure) {
        for arrival in takeRequests() { arrival.connection.answer(HTTPResponse(failure)) }
    }

    private func takeRequests() -> [QueuedRequest] {
        defer { requests = [] }
        return requests
    }
}
