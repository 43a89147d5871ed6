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

extension Timekeeper {
    /// Both clocks, read one after the other.
    package var moment: Moment { Moment(now: now, wallTime: wallTime) }
}
