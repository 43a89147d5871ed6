// SPDX-License-Identifier: MIT

/// One reading of both clocks, taken together when an event arrives.
package struct Moment: Equatable, Sendable {
    package let now: Instant
    package let wallTime: WallTime

    package init(now: Instant, wallTime: WallTime) {
        self.now = now
        self.wallTime = wallTime
    }

    /// What the wall clock will show at `instant`, as it stands now.
    package func wallTime(at instant: Instant) -> WallTime {
        wallTime + (instant - now)
    }

    /// When the boot-time clock reads the equivalent of `wallTime`, as the wall clock stands now.
    package func instant(at wallTime: WallTime) -> Instant {
        now + (wallTime - self.wallTime)
    }
}

/// How far the wall clock is from the boot-time clock.
///
/// It changes only when the wall clock steps, or when time passes that the boot-time clock does not count: a paused
/// virtual machine.
package struct ClockOffset: Equatable, Sendable {
    /// Smaller differences are corrections of a clock that is right, or readings that another process has interrupted.
    package static let smallestStep = Duration.seconds(60)

    private let seconds: Duration

    package init(_ moment: Moment) {
        seconds = (moment.wallTime - WallTime(secondsSince1970: 0)) - (moment.now - Instant(nanoseconds: 0))
    }

    /// The step of the wall clock since `earlier`, positive for one forward, or `nil` if there was none.
    package func step(since earlier: ClockOffset) -> Duration? {
        let step = seconds - earlier.seconds
        return step > Self.smallestStep || step < .zero - Self.smallestStep ? step : nil
    }
}

extension Timekeeper {
    /// Both clocks, read one after the other.
    package var moment: Moment { Moment(now: now, wallTime: wallTime) }
}
