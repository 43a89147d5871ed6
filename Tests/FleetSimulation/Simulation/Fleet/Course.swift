// SPDX-License-Identifier: MIT

import TokenCore

/// The time, what is to come, and what is counted.
struct Course {
    /// Nanoseconds since the beginning.
    var now: Int64 = 0
    var agenda = Agenda()
    var meter = LoadMeter()
    let chance: Chance

    /// Every host's boot-time clock; that they differ changes nothing.
    var instant: Instant { Instant(nanoseconds: now) }

    /// etcd's clock, as the `Date` of its answers shows it.
    var date: FleetTime { Course.date(at: now) }

    static func date(at time: Int64) -> FleetTime {
        FleetTime(seconds: 1_800_000_000 + (time >= 0 ? time : time - 999_999_999) / second)
    }

    static let second: Int64 = 1_000_000_000
}
