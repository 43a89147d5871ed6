// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import TokenCore

/// The machine's own clocks.
struct SystemTimekeeper: Timekeeper {
    var now: Instant { Instant(nanoseconds: hardening_boot_clock()) }

    var wallTime: WallTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(secondsSince1970: Int64(time.tv_sec), fraction: Int32(time.tv_nsec))
    }
}
