// SPDX-License-Identifier: MIT

import NIOCore

/// Periodic maintenance: timers that fire late after a suspend, unused connections, and a removed socket
/// file.
///
/// An idle agent does it half as often, so that it wakes an idle machine once a minute.
///
/// Confined to the agent's event loop.
final class Housekeeping: @unchecked Sendable {
    // Unchecked because it is only used on the event loop.
    static let delay = TimeAmount.seconds(30)
    /// The pause of an idle agent; a removed socket file is restored within it.
    static let longPause = TimeAmount.seconds(60)

    private let loop: any EventLoop
    private let work: () -> Bool
    private var next: Scheduled<Void>?
    private var due = NIODeadline.distantPast

    /// Creates the maintenance of an agent.
    ///
    /// - Parameters:
    ///   - loop: The loop that runs the work.
    ///   - work: The work after each pause; returns whether the agent is idle.
    init(on loop: any EventLoop, work: @escaping () -> Bool) {
        self.loop = loop
        self.work = work
    }

    /// Begins the first pause.
    func begin() { plan(after: Self.delay) }

    /// Shortens a long pause, because the agent is no longer idle.
    func runSoon() {
        guard due > loop.now + Self.delay else { return }
        next?.cancel()
        plan(after: Self.delay)
    }

    /// Runs the work now; the current pause continues.
    func runNow() { _ = work() }

    private func plan(after delay: TimeAmount) {
        due = loop.now + delay
        next = loop.scheduleTask(in: delay) { [weak self] in
            guard let self else { return }
            plan(after: work() ? Self.longPause : Self.delay)
        }
    }
}
