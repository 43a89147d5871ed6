// SPDX-License-Identifier: MIT

import NIOCore

/// Has the agent look after itself now and then: timers that a suspended machine left late, unused connections, a
/// socket's file that was removed.
///
/// An agent at rest looks half as often, so that a machine with nothing to do is woken once a minute.
/// Confined to the event loop.
final class Housekeeping: @unchecked Sendable {
    // Unchecked: used on the event loop alone.
    static let pause = TimeAmount.seconds(30)
    /// A socket's file that was removed is back within a minute.
    static let longPause = TimeAmount.seconds(60)

    private let loop: any EventLoop
    private let work: () -> Bool
    private var next: Scheduled<Void>?
    private var due = NIODeadline.distantPast

    /// - Parameters:
    ///   - loop: runs the work.
    ///   - work: is done after each pause; returns whether the agent is at rest.
    init(on loop: any EventLoop, work: @escaping () -> Bool) {
        self.loop = loop
        self.work = work
    }

    /// Begins the first pause.
    func begin() { plan(after: Self.pause) }

    /// Ends a long pause after a short one from now: the rest is over.
    func runSoon() {
        guard due > loop.now + Self.pause else { return }
        next?.cancel()
        plan(after: Self.pause)
    }

    /// Does the work now; the pause goes on.
    func runNow() { _ = work() }

    private func plan(after pause: TimeAmount) {
        due = loop.now + pause
        next = loop.scheduleTask(in: pause) { [weak self] in
            guard let self else { return }
            plan(after: work() ? Self.longPause : Self.pause)
        }
    }
}
