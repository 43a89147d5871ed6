// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// An estimate of etcd's clock, from the `Date` of its responses in whole seconds, rounded down.
///
/// etcd's clock is never behind the date of a response, so the latest estimate is the best one. An estimate
/// that is further behind than rounding and a slow response explain comes from another member, or from a
/// clock that was set.
final class EtcdClockEstimate: Sendable {
    /// The maximum error of one estimate, from rounding and a slow response: 8 seconds.
    private static let tolerance = Duration.seconds(8)

    /// etcd's time at the start of this host's boot-time clock.
    private let origin = Mutex<WallTime?>(nil)

    /// Updates the estimate with a response that arrived at `now` and was dated `seconds`.
    func heard(_ seconds: Int64, at now: Instant) {
        let estimate = WallTime(secondsSince1970: seconds) + (Instant(nanoseconds: 0) - now)
        origin.withLock { origin in
            guard let known = origin, estimate < known, known - estimate < EtcdClockEstimate.tolerance else {
                origin = estimate
                return
            }
        }
    }

    /// Returns etcd's time at `now`, or `nil` before the first response.
    func time(at now: Instant) -> WallTime? {
        origin.withLock(\.self).map { $0 + (now - Instant(nanoseconds: 0)) }
    }
}
