// SPDX-License-Identifier: MIT

import Glibc

/// The machine's idea of the date, for claims in tokens.
enum WallClock {
    /// Since 1970-01-01 UTC.
    static var seconds: Int64 { Int64(time(nil)) }
}
