// SPDX-License-Identifier: MIT

import TokenCore

/// One call of etcd by a host.
struct EtcdCall {
    enum Kind {
        case look
        /// A lease of this length.
        case grant(Duration)
        case transact(FleetTransaction)
        /// A range over all sessions of the host that lie in the cluster.
        case readAll
        case watch
    }

    /// What became of it.
    enum Outcome {
        /// The session's keys as they are after this change.
        case seen(change: Int)
        case granted
        case transacted(Bool)
        /// The same for each session.
        case seenAll([Int32])
        case watching
        case failed
    }

    var kind: Kind
    /// Which member of the fleet asks; for `readAll` and `watch` one of the host's.
    var member: Int
    var link: Int
    /// Of the host's process, and of etcd's.
    var life: UInt32
    var etcdLife: UInt32 = 0
    var deadline: Int64 = 0
    var revision: Int64 = 0
    var outcome = Outcome.failed
    /// The host waits no more.
    var isOver = false
    /// How many events about it are to come.
    var events = 0
}

/// What one host has to do with one etcd cluster.
struct HostLink {
    var waiting: [Int32] = []
    var isUnreachable = false
    var isWatching = false
    /// Its sessions have to be read before the watch is enough.
    var hasGap = false
    var underway: Int32 = 0
    /// Open connections for calls.
    var connections: Int32 = 0
    var lastUse: Int64 = 0
    var authorizedUntil: Int64 = 0
    /// The newest revision that its watch has brought.
    var heard: Int64 = 1
    var watchFailures: Int32 = 0
}

/// The state of a session's keys after a change, as a watch response tells it.
struct KeyChange {
    var session: Int
    var revision: Int64
    var view: FleetSnapshot
    var bytes: Int
    var putsRecord: Bool
    /// A lock is gone.
    var unlocks: Bool
}

/// A watch response on its way to all watchers at one member of a cluster.
struct FanOut {
    var change: Int
    var hosts: [Int32]
    /// When each of the hosts gets it.
    var times: [Int64]
    var next = 0
}
