// SPDX-License-Identifier: MIT

/// A moment on the wall clock, counted from 1970-01-01 UTC without leap seconds.
///
/// It is used only for display, on the wire and across reboots, always in whole seconds. Deadlines are
/// ``Instant``s. The fraction ensures that the same instant always becomes the same second.
package struct WallTime: Comparable, Hashable, Sendable {
    package let secondsSince1970: Int64
    /// The nanoseconds past the second, below 1,000,000,000.
    package let fraction: Int32

    package init(secondsSince1970: Int64, fraction: Int32 = 0) {
        self.secondsSince1970 = secondsSince1970
        self.fraction = fraction
    }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        (left.secondsSince1970, left.fraction) < (right.secondsSince1970, right.fraction)
    }

    package static func + (time: WallTime, duration: Duration) -> WallTime {
        let (seconds, attoseconds) = duration.saturatedComponents
        let nanoseconds = Int64(time.fraction) + attoseconds / 1_000_000_000
        let carry = nanoseconds >= second ? 1 : nanoseconds < 0 ? -1 : 0 as Int64
        let (sum, overflow) = time.secondsSince1970.addingReportingOverflow(seconds)
        let (carried, overflowOfCarry) = sum.addingReportingOverflow(carry)
        guard !overflow, !overflowOfCarry else {
            return WallTime(secondsSince1970: duration < .zero ? .min : .max)
        }
        return WallTime(secondsSince1970: carried, fraction: Int32(nanoseconds - carry * second))
    }

    package static func - (left: WallTime, right: WallTime) -> Duration {
        .seconds(left.secondsSince1970) - .seconds(right.secondsSince1970)
            + .nanoseconds(Int64(left.fraction) - Int64(right.fraction))
    }

    private static let second: Int64 = 1_000_000_000
}
