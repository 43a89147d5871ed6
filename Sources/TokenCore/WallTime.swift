// SPDX-License-Identifier: MIT

/// A moment on the wall clock: whole seconds since 1970-01-01 UTC, leap seconds not counted.
///
/// For display, for the wire and across reboots only; deadlines are ``Instant``s.
package struct WallTime: Comparable, Hashable, Sendable {
    package let secondsSince1970: Int64

    package init(secondsSince1970: Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.secondsSince1970 < right.secondsSince1970
    }

    package static func + (time: WallTime, duration: Duration) -> WallTime {
        let (sum, overflow) = time.secondsSince1970.addingReportingOverflow(duration.wholeSeconds)
        guard overflow else { return WallTime(secondsSince1970: sum) }
        return WallTime(secondsSince1970: duration < .zero ? .min : .max)
    }

    package static func - (left: WallTime, right: WallTime) -> Duration {
        .seconds(left.secondsSince1970) - .seconds(right.secondsSince1970)
    }
}
