// SPDX-License-Identifier: MIT

import TokenCore

/// This host's clocks and etcd's at one moment.
///
/// The hosts of a fleet agree only on etcd's time, which each host estimates from the `Date` header of etcd's
/// responses. Everything in etcd is dated with it.
package struct EtcdClockReading: Equatable, Sendable {
    package var now: Instant
    /// The wall clock of this host, which may be wrong.
    package var wallTime: WallTime
    /// The time of etcd's clock at ``now``, as estimated by this host.
    package var etcdTime: WallTime

    package init(now: Instant, wallTime: WallTime, etcdTime: WallTime) {
        self.now = now
        self.wallTime = wallTime
        self.etcdTime = etcdTime
    }

    /// The maximum time by which another host's estimate of etcd's clock may be ahead of this host's.
    ///
    /// Causes are whole seconds, slow responses, and differing clocks of etcd's members. Within the
    /// tolerance, a record counts from the time it is read, which is wrong by no more than those clocks
    /// differ. Beyond it, the record's times are meaningless.
    static let tolerance = Duration.seconds(600)

    /// The reading stored with this host's instants: its clock when etcd's was at the latest whole second.
    ///
    /// Its boot ID is always a new one. Machines restored from the same snapshot have the same boot ID but
    /// different clocks.
    var reading: ClockReading {
        ClockReading(
            boot: .random(),
            now: now - .nanoseconds(Int64(etcdTime.fraction)),
            wallTime: WallTime(secondsSince1970: etcdTime.secondsSince1970),
            tolerance: EtcdClockReading.tolerance
        )
    }

    /// The time by which etcd's clock is ahead of this host's.
    var lead: Duration { etcdTime - wallTime }
}

extension SessionSnapshot {
    /// Returns the snapshot with its wall times moved by `lead`, from one clock to another.
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
