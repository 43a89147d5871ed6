// SPDX-License-Identifier: MIT

/// The time of etcd in whole seconds since 1970, from the `Date` of its responses.
///
/// Records and intents are dated with it, because no host's clock is trusted.
package struct FleetTime: Hashable, Comparable, Sendable {
    package let seconds: Int64

    package init(seconds: Int64) {
        self.seconds = seconds
    }

    package static func < (left: FleetTime, right: FleetTime) -> Bool { left.seconds < right.seconds }

    /// Returns the saturated sum.
    ///
    /// Fractions of a second are dropped.
    package static func + (time: FleetTime, duration: Duration) -> FleetTime {
        let (sum, overflow) = time.seconds.addingReportingOverflow(duration.wholeSeconds)
        guard overflow else { return FleetTime(seconds: sum) }
        return FleetTime(seconds: duration < .zero ? .min : .max)
    }

    package static func - (left: FleetTime, right: FleetTime) -> Duration {
        .seconds(left.seconds) - .seconds(right.seconds)
    }
}
