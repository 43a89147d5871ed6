// SPDX-License-Identifier: MIT

import NIOCore
import TokenCore

/// A timer that fires when the first of its keys is due.
///
/// Confined to the agent's event loop.
final class Alarm<Key: Hashable> {
    /// The minimum delay, so that a key that is always due cannot block the event loop.
    private static var shortest: Duration { .milliseconds(5) }
    /// The maximum delay.
    ///
    /// The loop's timers do not advance while the machine sleeps, so distant plans are checked again after
    /// this.
    private static var longest: Duration { .seconds(3_600) }

    private let eventLoop: any EventLoop
    private let timekeeper: any Timekeeper
    private var queue = WakeTimeQueue<Key, Instant>()
    private var timer: (time: Instant, task: Scheduled<Void>)?
    /// The action of ``onFire(_:)``.
    private var ring: () -> Void = {}

    init(eventLoop: any EventLoop, timekeeper: any Timekeeper) {
        self.eventLoop = eventLoop
        self.timekeeper = timekeeper
    }

    /// Calls `ring` on the event loop when the first key may be due; `ring` takes the due keys and calls
    /// ``set()``.
    func onFire(_ ring: @escaping () -> Void) {
        self.ring = ring
    }

    /// Plans `key` for `time`, or removes its plan if `time` is `nil`.
    func plan(_ key: Key, at time: Instant?) {
        queue.plan(key, at: time)
        set()
    }

    /// Removes and returns the keys that are due, earliest first.
    func takeDue() -> [Key] {
        queue.takeDue(at: timekeeper.now)
    }

    func cancel() {
        queue.removeAll()
        set()
    }

    /// Schedules the timer for the earliest plan; required after ``takeDue()``.
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
