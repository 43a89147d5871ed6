// SPDX-License-Identifier: MIT

import TokenCore

/// What is simulated: how large a fleet, on what, and how it behaves.
package struct FleetPlan: Sendable {
    /// How a host learns from its watch what has changed.
    package enum Hearing: String, CaseIterable, Sendable {
        /// It looks after every watch response about one of its sessions.
        case looks
        /// It looks only after a change of the record, or when a lock goes that it waits for.
        case filtered
        /// As `filtered`; and the response shows the keys, which spares most looks.
        case carried
    }

    /// What the moment depends on at which a token is refreshed, within the window for it.
    package enum Spreading: String, CaseIterable, Sendable {
        /// On the host: each draws its own.
        case hosts
        /// Most of it on the session and its generation, alike on all hosts; a fifth on the host.
        case sessions
        /// On the session and its generation alone for the host that brought the record; the others come a tenth of
        /// the window later, each at a moment of its own.
        case turns
    }

    /// How hosts log in to etcd.
    package enum Authentication: String, CaseIterable, Sendable {
        /// Certificates alone.
        case none
        /// Name and password; a token lives for five idle minutes and does not outlive etcd's process.
        case password
        /// The same with `--bcrypt-cost 4`.
        case light
    }

    /// Which keys a host watches.
    package enum Watching: String, CaseIterable, Sendable {
        case everything
        /// Those of its own group's sessions, under a prefix of their own.
        case group
    }

    package var hosts = 100
    package var sessions = 10
    /// Hosts and sessions fall into this many groups; a host has the sessions of its group.
    package var groups = 1
    /// Of an access token, in seconds.
    package var lifetime: Int64 = 3_600
    /// Sessions are spread over this many etcd clusters by their names.
    package var etcds = 1
    /// The members of a cluster, and the cores of each.
    package var members = 3
    package var cores = 2
    package var conduct = Conduct.present
    package var authentication = Authentication.password
    package var isTokenKept = false
    /// For how many seconds the server takes a refresh token again, and ends the login after that; `nil`: it has no grace.
    package var grace: Int64?
    /// How long it takes to answer, in nanoseconds; it acts at once.
    package var responseTime: Int64 = 200_000_000
    package var costs = EtcdCosts()
    package var seed: UInt64 = 1

    package init() {}

    /// What the hosts do where the protocol leaves them a choice.
    package struct Conduct: Sendable {
        package var hearing: Hearing
        package var spreading: Spreading
        package var watching = Watching.everything
        /// After a restart or a gap one range brings all sessions of a host.
        package var readsAll: Bool

        /// The core as it is, and a watch that hands every response to it.
        package static let present = Conduct(
            hearing: .looks,
            spreading: .hosts,
            readsAll: false
        )
        /// What the figures speak for.
        package static let proposed = Conduct(
            hearing: .carried,
            spreading: .turns,
            readsAll: true
        )
    }

    var timing: FleetTiming {
        FleetTiming(reuse: isTokenKept ? .accepted : grace.map { .acceptedFor(.seconds($0)) } ?? .refused)
    }

    func etcd(of session: Int) -> Int {
        Int(Chance(seed: 0).number(session, 0, 0) % UInt64(etcds))
    }

    func isMember(_ host: Int, of session: Int) -> Bool { host % groups == session % groups }

    /// Nanoseconds that etcd's processor spends on a login.
    var authenticationCost: Int64 {
        switch authentication {
        case .none: 0
        case .password: costs.authentication
        case .light: costs.authentication / 64
        }
    }
}
