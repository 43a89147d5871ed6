// SPDX-License-Identifier: MIT

import TokenCore

/// The state of a run: its time, future events and counts.
struct Course {
    /// The time since the beginning, in nanoseconds.
    var now: Int64 = 0
    var agenda = Agenda()
    var meter = LoadMeter()
    let chance: Chance

    /// The boot-time clock of every host.
    ///
    /// Real clocks differ, which makes no difference here.
    var instant: Instant { Instant(nanoseconds: now) }

    /// The clock of etcd, as in the `Date` of its responses.
    var date: FleetTime { Course.date(at: now) }

    static func date(at time: Int64) -> FleetTime {
        FleetTime(seconds: 1_800_000_000 + (time >= 0 ? time : time - 999_999_999) / second)
    }

    static let second: Int64 = 1_000_000_000
}
