// SPDX-License-Identifier: MIT

import NIOCore

/// Tasks that wait for one condition on the event loop.
///
/// Confined to the agent's event loop.
final class ConditionWaiters {
    private let eventLoop: any EventLoop
    private var continuations: [CheckedContinuation<Void, Never>] = []

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Waits for the next ``resumeAll()``.
    func wait() async {
        await withCheckedContinuation { continuations.append($0) }
    }

    /// Waits for the next ``resumeAll()``; after `limit`, calls it for all waiting tasks.
    func wait(atMost limit: TimeAmount) async {
        let timeout = resumeAll(after: limit)
        await wait()
        timeout.cancel()
    }

    private func resumeAll(after limit: TimeAmount) -> Scheduled<Void> {
        eventLoop.assumeIsolated().scheduleTask(in: limit) { [self] in resumeAll() }
    }

    func resumeAll() {
        let waiting = continuations
        continuations = []
        for continuation in waiting { continuation.resume() }
    }
}
