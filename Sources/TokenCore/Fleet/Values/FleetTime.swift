// SPDX-License-Identifier: MIT

/// etcd's time in whole seconds since 1970, as the `Date` of its answers shows it.
///
/// Records and intents are dated with it, because no host's clock is trusted.
package struct FleetTime: Hashable, Comparable, Sendable {
    package let seconds: Int64

    package init(seconds: Int64) {
        self.seconds = seconds
    }

    package static func < (left: FleetTime, right: FleetTime) -> Bool { left.seconds < right.seconds }

    /// Saturates; a part of a second counts as nothing.
    package static func + (time: FleetTime, duration: Duration) -> FleetTime {
        let (sum, overflow) = time.seconds.addingReportingOverflow(duration.wholeSeconds)
        guard overflow else { return FleetTime(seconds: sum) }
        return FleetTime(seconds: duration < .zero ? .min : .max)
    }

    package static func - (left: FleetTime, right: FleetTime) -> Duration {
        .seconds(left.seconds) - .seconds(right.seconds)
    }
}
