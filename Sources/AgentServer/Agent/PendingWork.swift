// SPDX-License-Identifier: MIT

import NIOCore

/// What is under way beyond the present turn of the loop; a lock or a stop waits for it.
///
/// Confined to the event loop.
final class PendingWork {
    private let eventLoop: any EventLoop
    private var count = 0
    private let waiters: LoopWaiters

    init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        waiters = LoopWaiters(eventLoop: eventLoop)
    }

    var isEmpty: Bool { count == 0 }

    /// Notes that something is under way from here on; ``end()`` follows.
    func begin() {
        count += 1
    }

    /// Notes that it has ended; call it once what follows from it has begun.
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

    /// Waits until nothing is under way any more, at most `limit`.
    func drain(within limit: TimeAmount, isolation: isolated (any Actor)? = #isolation) async {
        if !isEmpty { await waiters.wait(atMost: limit) }
    }
}
