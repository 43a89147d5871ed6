// SPDX-License-Identifier: MIT

import TokenCore

/// An etcd cluster: its members' cores, its log, and its revision.
struct SimulatedEtcd {
    private(set) var members: [ProcessorPool]
    private(set) var revision: Int64 = 1
    /// Whether its processes are running.
    private(set) var isUp = true
    /// The number of restarts.
    ///
    /// Calls in flight at a restart are lost.
    private(set) var life: UInt32 = 0
    /// The time at which the last batch of writes is on the disks.
    private var batchEnd: Int64 = 0

    init(members count: Int, cores: Int) {
        members = (0..<count).map { _ in ProcessorPool(cores: cores) }
    }

    /// Returns the member that serves `host`.
    func member(of host: Int) -> Int { host % members.count }

    /// Processes a call of `host`.
    ///
    /// - Returns: the time at which the work is done.
    mutating func work(_ cost: Int64, for host: Int, at time: Int64) -> Int64 {
        members[host % members.count].run(cost, at: time)
    }

    /// Adds the work of the other members for a call of `host`.
    mutating func share(_ cost: Int64, besides host: Int, at time: Int64) {
        for index in members.indices where index != host % members.count {
            _ = members[index].run(cost, at: time)
        }
    }

    /// Adds the work of a member for a response to one watcher.
    mutating func respond(_ member: Int, _ cost: Int64, at time: Int64) -> Int64 {
        members[member].run(cost, at: time)
    }

    /// Adds a write to the log.
    ///
    /// Writes during a batch form the next batch.
    ///
    /// - Returns: the time at which the write is in the log.
    mutating func log(_ batch: Int64, at time: Int64) -> Int64 {
        if time >= batchEnd {
            batchEnd = time + batch
        } else if time >= batchEnd - batch {
            batchEnd += batch
        }
        return batchEnd
    }

    mutating func advance() { revision += 1 }

    func wait(for host: Int, at time: Int64) -> Int64 { members[host % members.count].wait(at: time) }

    /// The processor time used so far by all members, in nanoseconds.
    var used: Int64 { members.reduce(0) { $0 + $1.used } }

    mutating func stop() {
        isUp = false
        life += 1
        for index in members.indices { members[index].clear() }
    }

    mutating func start() { isUp = true }
}
