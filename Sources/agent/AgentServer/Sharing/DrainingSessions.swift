// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// The sessions that are about to leave their fleet, once the other hosts have everything this host has.
///
/// Confined to the agent's event loop.
final class DrainingSessions {
    /// The maximum time to wait, 30 seconds, because a request takes at most 20.
    private static let maximumWait = TimeAmount.seconds(30)

    private let waiters: ConditionWaiters
    private var names: [SessionName: Int] = [:]

    init(eventLoop: any EventLoop) {
        waiters = ConditionWaiters(eventLoop: eventLoop)
    }

    /// Returns whether the session is about to leave, so that no new request is sent for it.
    func contains(_ name: SessionName) -> Bool { names[name] != nil }

    /// Waits until `isNeeded` is false for all these sessions, 30 seconds at most, and marks them as leaving
    /// during that time.
    ///
    /// A call of ``look()`` checks the condition again.
    func wait(for names: Set<SessionName>, while isNeeded: (SessionName) -> Bool, ) async {
        for name in names { self.names[name, default: 0] += 1 }
        await wait { names.contains(where: isNeeded) }
        for name in names {
            let others = (self.names[name] ?? 1) - 1
            self.names[name] = others == 0 ? nil : others
        }
    }

    /// Waits while `isNeeded` is true, for 30 seconds at most.
    ///
    /// The agent serves other requests during that time. A call of ``look()`` checks the condition again.
    func wait(while isNeeded: () -> Bool) async {
        let end = NIODeadline.now() + DrainingSessions.maximumWait
        while NIODeadline.now() < end, isNeeded() { await waiters.wait(atMost: end - .now()) }
    }

    /// Checks the conditions of all waiters again, because a session has changed.
    func look() { waiters.resumeAll() }
}
