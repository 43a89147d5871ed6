// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// Rings when the first of its keys is due.
///
/// Confined to the event loop.
final class Alarm<Key: Hashable> {
    /// Shortest delay, so that a key that is due again at once cannot stop the loop.
    private static var shortest: Duration { .milliseconds(5) }
    /// Longest delay: a distant plan is looked at again by then, as a timer of the loop stands still while
    /// the machine sleeps.
    private static var longest: Duration { .seconds(3_600) }

    private let eventLoop: any EventLoop
    private let timekeeper: any Timekeeper
    private var queue = WakeQueue<Key, Instant>()
    private var timer: (time: Instant, task: Scheduled<Void>)?
    /// Called when the first key may be due, to take the due ones and to plan anew.
    private var ring: () -> Void = {}

    init(eventLoop: any EventLoop, timekeeper: any Timekeeper) {
        self.eventLoop = eventLoop
        self.timekeeper = timekeeper
    }

    /// Calls `ring` on the event loop when the first key may be due; `ring` takes the due ones.
    func onFire(_ ring: @escaping () -> Void) {
        self.ring = ring
    }

    /// Plans `key` for `time`, or not at all.
    func plan(_ key: Key, at time: Instant?) {
        queue.plan(key, at: time)
        set()
    }

    /// Takes out the keys that are due, soonest first.
    func takeDue() -> [Key] {
        queue.takeDue(at: timekeeper.now)
    }

    func planNothing() {
        queue.removeAll()
        set()
    }

    /// Sets the timer for the first plan; call it after ``takeDue()``.
    func set() {
        guard let next = queue.next else {
            timer?.task.cancel()
            timer = nil
            return
        }
        if let timer, timer.time == next { return }
        timer?.task.cancel()
        let delay = min(max(Self.shortest, next - timekeeper.now), Self.longest)
        let nanoseconds = TimeAmount.nanoseconds(delay.saturatedNanoseconds)
        let task = eventLoop.assumeIsolated().scheduleTask(in: nanoseconds) { [weak self] in
            guard let self else { return }
            timer = nil
            ring()
        }
        timer = (next, task)
    }
}
