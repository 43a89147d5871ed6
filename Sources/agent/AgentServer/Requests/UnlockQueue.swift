// SPDX-License-Identifier: MIT

import NIOCore

/// A request that waits for the store to be opened.
struct QueuedRequest {
    var request: HTTPRequest
    var connection: Connection
}

/// The requests that arrived while the store was being opened, and other waiters for it.
///
/// Confined to the agent's event loop.
final class UnlockQueue {
    private let waiters: ConditionWaiters
    private var requests: [QueuedRequest] = []

    init(eventLoop: any EventLoop) {
        waiters = ConditionWaiters(eventLoop: eventLoop)
    }

    /// The number of requests that wait.
    var count: Int { requests.count }

    func add(_ request: HTTPRequest, on connection: Connection) {
        requests.append(QueuedRequest(request: request, connection: connection))
    }

    /// Removes the requests of `connection`, whose peer left.
    func withdraw(_ connection: Connection) {
        if !requests.isEmpty { requests.removeAll { $0.connection === connection } }
    }

    /// Waits until it is known whether the store opens without the user.
    func waitUntilOpened() async {
        await waiters.wait()
    }

    /// Waits until it is known whether the store opens without the user, but at most `limit`.
    func waitUntilOpened(within limit: TimeAmount) async {
        await waiters.wait(atMost: limit)
    }

    /// Ends the wait and returns the requests that waited.
    func finish() -> [QueuedRequest] {
        waiters.resumeAll()
        return takeRequests()
    }

    /// Answers all waiting requests with `failure`, because the agent stops before it was unlocked.
    func refuse(_ failure: RequestFailure) {
        for arrival in takeRequests() { arrival.connection.answer(HTTPResponse(failure)) }
    }

    private func takeRequests() -> [QueuedRequest] {
        defer { requests = [] }
        return requests
    }
}
