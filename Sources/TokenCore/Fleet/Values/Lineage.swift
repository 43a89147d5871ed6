// SPDX-License-Identifier: MIT

/// One login of a session, the same on every host of the fleet.
package struct Lineage: Hashable, Sendable {
    /// The higher number is the later login: etcd's time of it in seconds since 1970, and higher than that of the login
    /// before, as far as its host knew.
    ///
    /// So a host that is behind does not log in to an older login than it replaces.
    package var number: UInt64
    /// 128 random bits, which tell two logins of the same number apart.
    ///
    /// Two can meet that were made at once, or after etcd was put back to an old snapshot. The one that etcd has is the
    /// login then.
    package var id: UInt128

    package init(number: UInt64, id: UInt128) {
        self.number = number
        self.id = id
    }

    /// A login made at `time`, as far as the host knows etcd's time, after the login that it knows.
    init(_ id: UInt128, after known: Lineage?, at time: FleetTime?) {
        let last = known?.number ?? 0
        let next = last == .max ? last : last + 1
        // etcd's seconds are whole: a login that this host does not know may be of the present one.
        let present = UInt64(clamping: time?.seconds ?? 0) + (known == nil ? 1 : 0)
        self.init(number: max(next, present), id: id)
    }
}

/// Names one attempt of one host to refresh or to log in, and with it the tokens that the attempt brought.
package struct AttemptID: Hashable, Comparable, Sendable {
    /// The host's random identity.
    package var host: UInt64
    /// 64 random bits.
    package var random: UInt64

    package init(host: UInt64, random: UInt64) {
        self.host = host
        self.random = random
    }

    /// Stands for all attempts whose intents a restored snapshot has lost.
    package static let lost = AttemptID(host: 0, random: 0)

    package static func < (left: AttemptID, right: AttemptID) -> Bool {
        (left.host, left.random) < (right.host, right.random)
    }
}
