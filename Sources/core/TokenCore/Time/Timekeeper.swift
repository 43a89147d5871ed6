// SPDX-License-Identifier: MIT

/// The port for reading the two clocks.
///
/// Tests implement it to move time.
package protocol Timekeeper: Sendable {
    /// The boot-time clock, which never goes back and counts suspend.
    var now: Instant { get }
    /// The wall clock, which may step either way at any moment.
    var wallTime: WallTime { get }
}

extension Timekeeper {
    /// Returns the wall-clock time at `instant`, if the wall clock does not step.
    package func wallTime(at instant: Instant) -> WallTime {
        moment.wallTime(at: instant)
    }
}
