// SPDX-License-Identifier: MIT

import NIOCore

/// The number of jobs that outlast the current turn of the loop; a lock or a stop waits for them.
///
/// Confined to the agent's event loop.
final class PendingWork {
    private let eventLoop: any EventLoop
    private var count = 0
    private let waiters: ConditionWaiters

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        waiters = ConditionWaiters(eventLoop: eventLoop)
    }

    var isEmpty: Bool { count == 0 }

    /// Records the begin of a job; each call requires one of ``end()``.
    func begin() {
        count += 1
    }

    /// Records the end of a job; call it after beginning any follow-up job.
    func end() {
        count -= 1
        if isEmpty { waiters.resumeAll() }
    }

    /// Runs `action` in a later turn of the loop, so that effects keep their order.
    func later(_ action: @escaping () -> Void) {
        begin()
        eventLoop.assumeIsolated().execute { [self] in
            action()
            end()
        }
    }

    /// Waits until no job is pending, for at most `limit`.
    func drain(within limit: TimeAmount) async {
        if !isEmpty { await waiters.wait(atMost: limit) }
    }
}
