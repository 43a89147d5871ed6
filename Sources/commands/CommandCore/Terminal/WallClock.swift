// SPDX-License-Identifier: MIT

import Glibc

/// The wall clock, for showing the distance to an instant.
package enum WallClock {
    /// The number of seconds since 1970 (UTC).
    package static var seconds: Int64 {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec)
    }
}
