// SPDX-License-Identifier: MIT

import Glibc

/// The machine's idea of the date, for claims in tokens.
package enum WallClock {
    /// Since 1970-01-01 UTC.
    package static var seconds: Int64 { Int64(time(nil)) }
}
