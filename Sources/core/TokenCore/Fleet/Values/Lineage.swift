// SPDX-License-Identifier: MIT

/// The identity of one login of a session, the same on every host of the fleet.
package struct Lineage: Hashable, Sendable {
    /// The login's number, higher for a later login.
    ///
    /// It is etcd's time of the login in seconds since 1970, but higher than the number of the previous login
    /// that its host knew. So a host that is behind cannot create an older login than the one it replaces.
    package var number: UInt64
    /// 128 random bits that distinguish two logins of the same number.
    ///
    /// Such logins may be made at the same time, or after etcd was restored from an old snapshot. The one in
    /// etcd is the login then.
    package var id: UInt128

    package init(number: UInt64, id: UInt128) {
        self.number = number
        self.id = id
    }

    /// Creates the identity of a new login at `time`, as later than the login `known` to this host.
    init(_ id: UInt128, after known: Lineage?, at time: FleetTime?) {
        let last = known?.number ?? 0
        let next = last == .max ? last : last + 1
        // etcd's time is in whole seconds, so an unknown login may be of the current second.
        let present = UInt64(clamping: time?.seconds ?? 0) + (known == nil ? 1 : 0)
        self.init(number: max(next, present), id: id)
    }
}

/// The ID of one attempt of one host to refresh or to log in, and of the tokens that the attempt obtained.
package struct AttemptID: Hashable, Comparable, Sendable {
    /// The host's random identity.
    package var host: UInt64
    /// 64 random bits.
    package var random: UInt64

    package init(host: UInt64, random: UInt64) {
        self.host = host
        self.random = random
    }

    /// The ID that stands for all attempts whose intents etcd may have lost when it was restored from a
    /// snapshot.
    package static let lost = AttemptID(host: 0, random: 0)

    package static func < (left: AttemptID, right: AttemptID) -> Bool {
        (left.host, left.random) < (right.host, right.random)
    }
}
