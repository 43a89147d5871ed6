// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import TokenCore

/// The machine's own clocks.
struct SystemTimekeeper: Timekeeper {
    var now: Instant { Instant(nanoseconds: hardening_boot_clock()) }

    var wallTime: WallTime { WallTime(secondsSince1970: Int64(time(nil))) }
}
