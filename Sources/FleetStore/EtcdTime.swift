// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// etcd's clock, as the `Date` of its answers shows it: whole seconds, each cut off.
///
/// So etcd's time is never behind what an answer says, and the estimate that is furthest ahead is the best one. One that is
/// further behind than a cut-off second and a slow answer explain comes from another member, or from a clock that was set.
final class EtcdTime: Sendable {
    /// What a whole second and an answer that took its time may take away.
    private static let blur = Duration.seconds(8)

    /// etcd's time at the start of this host's boot-time clock.
    private let origin = Mutex<WallTime?>(nil)

    /// An answer that has come at `now` was dated `seconds`.
    func heard(_ seconds: Int64, at now: Instant) {
        let estimate = WallTime(secondsSince1970: seconds) + (Instant(nanoseconds: 0) - now)
        origin.withLock { origin in
            guard let known = origin, estimate < known, known - estimate < EtcdTime.blur else {
                origin = estimate
                return
            }
        }
    }

    /// What it shows at `now`; `nil` before the first answer.
    func time(at now: Instant) -> WallTime? {
        origin.withLock(\.self).map { $0 + (now - Instant(nanoseconds: 0)) }
    }
}
