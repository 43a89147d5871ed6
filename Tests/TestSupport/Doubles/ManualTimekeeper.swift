// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// Two clocks that change only when a test moves them.
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

    /// Advances both clocks, as also happens during suspend.
    package func advance(by duration: Duration) {
        clocks.withLock { clocks in
            clocks.now = clocks.now + duration
            clocks.wallTime = clocks.wallTime + duration
        }
    }

    /// Sets the wall clock forward or back, without advancing the boot-time clock.
    package func stepWallClock(by duration: Duration) {
        clocks.withLock { $0.wallTime = $0.wallTime + duration }
    }
}
