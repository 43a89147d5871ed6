// SPDX-License-Identifier: MIT

import TokenCore

/// A host's call to etcd.
struct EtcdCall {
    enum Kind {
        case look
        /// The grant of a lease with this duration.
        case grant(Duration)
        case transact(FleetTransaction)
        /// A range over all sessions of the host in the cluster.
        case readAll
        case watch
    }

    /// The result of a call.
    enum Outcome {
        /// The session's keys after this change.
        case seen(change: Int)
        case granted
        case transacted(Bool)
        /// The keys of each session, by the indices of their changes.
        case seenAll([Int32])
        case watching
        case failed
    }

    var kind: Kind
    /// The fleet member that makes the call, which for `readAll` and `watch` is any member of the host.
    var member: Int
    var link: Int
    /// The life of the host's process and, in ``etcdLife``, of etcd's.
    var life: UInt32
    var etcdLife: UInt32 = 0
    var deadline: Int64 = 0
    var revision: Int64 = 0
    var outcome = Outcome.failed
    /// Whether the host has stopped waiting for the call.
    var isOver = false
    /// The number of future events of the call.
    var events = 0
}

/// The connections of one host to one etcd cluster.
struct HostLink {
    var waiting: [Int32] = []
    var isUnreachable = false
    var isWatching = false
    /// Whether the sessions must be read before the watch suffices.
    var hasGap = false
    var underway: Int32 = 0
    /// The number of open connections for calls.
    var connections: Int32 = 0
    var lastUse: Int64 = 0
    var authorizedUntil: Int64 = 0
    /// The newest revision reported by the watch.
    var heard: Int64 = 1
    var watchFailures: Int32 = 0
}

/// The state of a session's keys after a change, as in a watch response.
struct KeyChange {
    var session: Int
    var revision: Int64
    var view: FleetSnapshot
    var bytes: Int
    var putsRecord: Bool
    /// Whether the change releases a lock.
    var unlocks: Bool
}

/// A watch response on its way to all watchers at one member of a cluster.
struct FanOut {
    var change: Int
    var hosts: [Int32]
    /// The time at which each host receives the response.
    var times: [Int64]
    var next = 0
}
