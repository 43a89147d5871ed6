// SPDX-License-Identifier: MIT

/// One reading of both clocks, taken together when an event arrives.
package struct Moment: Equatable, Sendable {
    package let now: Instant
    package let wallTime: WallTime

    package init(now: Instant, wallTime: WallTime) {
        self.now = now
        self.wallTime = wallTime
    }

    /// Returns the wall-clock time at `instant`, if the wall clock does not step.
    package func wallTime(at instant: Instant) -> WallTime {
        wallTime + (instant - now)
    }

    /// Returns the instant at `wallTime`, if the wall clock does not step.
    package func instant(at wallTime: WallTime) -> Instant {
        now + (wallTime - self.wallTime)
    }
}

/// The difference between the wall clock and the boot-time clock.
///
/// It changes only when the wall clock steps, or when time passes that the boot-time clock does not count, as
/// in a paused virtual machine.
package struct WallClockOffset: Equatable, Sendable {
    /// The largest difference that does not count as a step, 60 seconds.
    ///
    /// Smaller differences are corrections of an accurate clock, or two readings with an interruption in
    /// between.
    static let smallestStep = Duration.seconds(60)

    private let seconds: Duration

    package init(_ moment: Moment) {
        seconds = (moment.wallTime - WallTime(secondsSince1970: 0)) - (moment.now - Instant(nanoseconds: 0))
    }

    /// Returns the step of the wall clock since `earlier`, or `nil` if there was none.
    ///
    /// A step forward is positive.
    package func step(since earlier: WallClockOffset) -> Duration? {
        let step = seconds - earlier.seconds
        return step > Self.smallestStep || step < .zero - Self.smallestStep ? step : nil
    }
}

extension Timekeeper {
    /// The current reading of both clocks, one after the other.
    package var moment: Moment { Moment(now: now, wallTime: wallTime) }
}
