// SPDX-License-Identifier: MIT

import TokenCore

/// A host's clocks and etcd's at one moment.
///
/// Hosts of a fleet agree on etcd's time alone, which each host estimates from the `Date` of its answers. Everything in etcd
/// is dated with it.
package struct FleetClock: Equatable, Sendable {
    package var now: Instant
    /// This host's wall clock, which may be wrong.
    package var wallTime: WallTime
    /// What etcd's clock shows at ``now``, as far as this host knows.
    package var etcdTime: WallTime

    package init(now: Instant, wallTime: WallTime, etcdTime: WallTime) {
        self.now = now
        self.wallTime = wallTime
        self.etcdTime = etcdTime
    }

    /// How far etcd's time, as another host estimated it, may be ahead of ours.
    ///
    /// Whole seconds, a slow answer and members of the cluster whose clocks differ do that. Within it a record counts from
    /// when it is read, which errs by no more than those clocks do. Further ahead its times say nothing.
    static let tolerance = Duration.seconds(600)

    /// What is written beside instants of this host's: its clock when etcd's was at its latest whole second.
    ///
    /// The boot is one of its own. Machines that were restored from one snapshot have the same boot, and their clocks differ.
    var reading: ClockReading {
        ClockReading(
            boot: .random(),
            now: now - .nanoseconds(Int64(etcdTime.fraction)),
            wallTime: WallTime(secondsSince1970: etcdTime.secondsSince1970),
            tolerance: FleetClock.tolerance
        )
    }

    /// How far etcd's clock is ahead of this host's.
    var lead: Duration { etcdTime - wallTime }
}

extension SessionSnapshot {
    /// With its wall times moved by `lead`, from one clock to another.
    func movingWallTimes(by lead: Duration) -> SessionSnapshot {
        var moved = self
        moved.loggedInAt = loggedInAt + lead
        moved.refreshExpiresAt = refreshExpiresAt.map { $0 + lead }
        if let ending { moved.ending?.at = ending.at + lead }
        if case .ended(let reason, let quarantinedUntil?) = standing {
            moved.standing = .ended(reason, quarantinedUntil: quarantinedUntil + lead)
        }
        return moved
    }
}
