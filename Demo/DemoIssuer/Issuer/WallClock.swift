// SPDX-License-Identifier: MIT

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The machine's idea of the date, for claims in tokens.
enum WallClock {
    /// Since 1970-01-01 UTC.
    static var seconds: Int64 { Int64(time(nil)) }
}
