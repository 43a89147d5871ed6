// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// Two clocks that stand still until a test moves them.
package final class ManualTimekeeper: Timekeeper {
    private struct Clocks {
        var now: Instant
        var wallTime: WallTime
    }

    private let clocks: Mutex<Clocks>

    package init(
        now: Instant = .seconds(1000),
        wallTime: WallTime = WallTime(secondsSince1970: 1_800_000_000)
    ) {
        clocks = Mutex(Clocks(now: now, wallTime: wallTime))
    }

    package var now: Instant { clocks.withLock(\.now) }

    package var wallTime: WallTime { clocks.withLock(\.wallTime) }

    /// Lets time pass on both clocks, suspended or not.
    package func advance(by duration: Duration) {
        clocks.withLock { clocks in
            clocks.now = clocks.now + duration
            clocks.wallTime = clocks.wallTime + duration
        }
    }

    /// Sets the date forward or back; no time passes.
    package func stepWallClock(by duration: Duration) {
        clocks.withLock { $0.wallTime = $0.wallTime + duration }
    }
}
