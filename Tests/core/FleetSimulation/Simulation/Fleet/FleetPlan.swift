// SPDX-License-Identifier: MIT

import TokenCore

/// The parameters of a simulation: the size of the fleet, its etcd, and the behavior of the hosts.
package struct FleetPlan: Sendable {
    /// The reaction of a host to a watch response.
    package enum Hearing: String, CaseIterable, Sendable {
        /// Read after every response about one of the host's sessions.
        case looks
        /// Read only after a change of the record, or when an awaited lock is released.
        case filtered
        /// As `filtered`, but the response contains the keys, which avoids most reads.
        case carried
    }

    /// The source of the jitter of a refresh within its window.
    package enum Spreading: String, CaseIterable, Sendable {
        /// The host: each host draws its own time.
        case hosts
        /// Four fifths depend on the session and its generation, alike on all hosts, and one fifth on the
        /// host.
        case sessions
        /// For the host of the last refresh, the session and its generation alone.
        ///
        /// The other hosts follow a tenth of the window later, each at its own time.
        case turns
    }

    /// The authentication of hosts at etcd.
    package enum Authentication: String, CaseIterable, Sendable {
        /// Certificates alone.
        case none
        /// A name and a password.
        ///
        /// A token expires after five idle minutes, or with etcd's process.
        case password
        /// A name and a password with `--bcrypt-cost 4`.
        case light
    }

    /// The keys that a host watches.
    package enum Watching: String, CaseIterable, Sendable {
        case everything
        /// Those of its group's sessions, which have their own prefix.
        case group
    }

    package var hosts = 100
    package var sessions = 10
    /// The number of groups of hosts and sessions.
    ///
    /// A host has the sessions of its group.
    package var groups = 1
    /// The lifetime of an access token, in seconds.
    package var lifetime: Int64 = 3_600
    /// The number of etcd clusters, among which sessions are distributed by their names.
    package var etcds = 1
    /// The number of members of a cluster, and of the cores of each member.
    package var members = 3
    package var cores = 2
    package var conduct = Conduct.present
    package var authentication = Authentication.password
    package var isTokenKept = false
    /// The time during which the server accepts a used refresh token again, in seconds, or `nil` for none.
    ///
    /// Later use ends the login.
    package var grace: Int64?
    /// The delay of the authorization server's response, in nanoseconds.
    ///
    /// The server acts at once.
    package var responseTime: Int64 = 200_000_000
    package var costs = EtcdCosts()
    package var seed: UInt64 = 1

    package init() {}

    /// The behavior of hosts where the protocol leaves a choice.
    package struct Conduct: Sendable {
        package var hearing: Hearing
        package var spreading: Spreading
        package var watching = Watching.everything
        /// Whether one range reads all sessions of a host after a restart or a gap.
        package var readsAll: Bool

        /// The behavior of the core, with a watch that passes on every response.
        package static let present = Conduct(
            hearing: .looks,
            spreading: .hosts,
            readsAll: false
        )
        /// The behavior that the figures favor.
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

    /// The processor time of etcd for an authentication, in nanoseconds.
    var authenticationCost: Int64 {
        switch authentication {
        case .none: 0
        case .password: costs.authentication
        case .light: costs.authentication / 64
        }
    }
}
