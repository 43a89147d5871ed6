// SPDX-License-Identifier: MIT

import Glibc

/// The machine's wall clock, for claims in tokens.
package enum WallClock {
    /// The time in seconds since 1970-01-01 UTC.
    package static var seconds: Int64 { Int64(time(nil)) }
}
