// SPDX-License-Identifier: MIT

import NIOCore

/// What an event loop has to do later.
struct LoopTimers {
    struct Timer: Sendable {
        var run: @Sendable () -> Void
        /// Called instead, if the loop ends before.
        var giveUp: @Sendable () -> Void
    }

    private var queue = WakeQueue<UInt64, NIODeadline>()
    private var timers: [UInt64: Timer] = [:]

    var isEmpty: Bool { timers.isEmpty }

    /// When the first timer is due.
    var next: NIODeadline? {
        mutating get { timers.isEmpty ? nil : queue.next }
    }

    mutating func add(_ timer: Timer, number: UInt64, at time: NIODeadline) {
        timers[number] = timer
        queue.plan(number, at: time)
    }

    mutating func remove(_ number: UInt64) {
        guard timers.removeValue(forKey: number) != nil else { return }
        queue.plan(number, at: nil)
    }

    /// Takes out what is due at `now`, soonest first.
    mutating func takeDue(at now: NIODeadline) -> [Timer] {
        queue.takeDue(at: now).compactMap { timers.removeValue(forKey: $0) }
    }

    mutating func takeAll() -> [Timer] {
        defer {
            timers = [:]
            queue.removeAll()
        }
        return Array(timers.values)
    }
}
