// SPDX-License-Identifier: MIT

/// Reads the two clocks; the port through which tests move time.
package protocol Timekeeper: Sendable {
    /// The boot-time clock. Never goes back, counts suspend.
    var now: Instant { get }
    /// The wall clock. May step either way at any moment.
    var wallTime: WallTime { get }
}

extension Timekeeper {
    /// The wall-clock time at which the boot-time clock will read `instant`, as the wall clock stands now.
    package func wallTime(at instant: Instant) -> WallTime {
        moment.wallTime(at: instant)
    }
}
