// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Sessions that are about to leave their fleet, once nobody needs this host for them.
///
/// Confined to the agent's event loop.
final class DepartingSessions {
    /// A request takes 20 seconds at most.
    private static let longestWait = TimeAmount.seconds(30)

    private let waiters: LoopWaiters
    private var names: [SessionName: Int] = [:]

    init(eventLoop: any EventLoop) {
        waiters = LoopWaiters(eventLoop: eventLoop)
    }

    /// Nothing more is sent for it.
    func contains(_ name: SessionName) -> Bool { names[name] != nil }

    /// Waits until none of these sessions `isNeeded`; ``look()`` has them asked again.
    func wait(
        for names: Set<SessionName>,
        while isNeeded: (SessionName) -> Bool,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        for name in names { self.names[name, default: 0] += 1 }
        await wait { names.contains(where: isNeeded) }
        for name in names {
            let others = (self.names[name] ?? 1) - 1
            self.names[name] = others == 0 ? nil : others
        }
    }

    /// Waits as long as `isNeeded`, which ``look()`` has asked again; meanwhile everything goes on.
    func wait(while isNeeded: () -> Bool, isolation: isolated (any Actor)? = #isolation) async {
        let end = NIODeadline.now() + DepartingSessions.longestWait
        while NIODeadline.now() < end, isNeeded() { await waiters.wait(atMost: end - .now()) }
    }

    /// Something has changed that somebody may wait for.
    func look() { waiters.resumeAll() }
}
