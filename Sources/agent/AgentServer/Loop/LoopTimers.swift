// SPDX-License-Identifier: MIT

import NIOCore

/// The timers of an event loop.
struct LoopTimers {
    struct Timer: Sendable {
        var run: @Sendable () -> Void
        /// The action if the loop ends first.
        var giveUp: @Sendable () -> Void
    }

    private var queue = WakeTimeQueue<UInt64, NIODeadline>()
    private var timers: [UInt64: Timer] = [:]

    var isEmpty: Bool { timers.isEmpty }

    /// The time of the earliest timer, or `nil` if there is none.
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

    /// Removes and returns the timers that are due at `now`, earliest first.
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
