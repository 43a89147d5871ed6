// SPDX-License-Identifier: MIT

import TokenCore

/// One etcd cluster: its members' cores, its log, and its place in its own history.
struct SimulatedEtcd {
    private(set) var members: [ProcessorPool]
    private(set) var revision: Int64 = 1
    /// Its processes run.
    private(set) var isUp = true
    /// Counts restarts: what was under way at one is lost.
    private(set) var life: UInt32 = 0
    /// When the last batch of writes is on the disks.
    private var batchEnd: Int64 = 0

    init(members count: Int, cores: Int) {
        members = (0..<count).map { _ in ProcessorPool(cores: cores) }
    }

    /// The member that serves `host`.
    func member(of host: Int) -> Int { host % members.count }

    /// Works on a call of `host`.
    ///
    /// - Returns: when its work is done.
    mutating func work(_ cost: Int64, for host: Int, at time: Int64) -> Int64 {
        members[host % members.count].run(cost, at: time)
    }

    /// What the other members do for a call of `host`.
    mutating func share(_ cost: Int64, besides host: Int, at time: Int64) {
        for index in members.indices where index != host % members.count {
            _ = members[index].run(cost, at: time)
        }
    }

    /// A member answers one watcher.
    mutating func respond(_ member: Int, _ cost: Int64, at time: Int64) -> Int64 {
        members[member].run(cost, at: time)
    }

    /// Puts a write into the log: writes that come while a batch is on its way to the disk are the next batch.
    ///
    /// - Returns: when it is there.
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

    /// Processor time used so far, in nanoseconds, by all members.
    var used: Int64 { members.reduce(0) { $0 + $1.used } }

    mutating func stop() {
        isUp = false
        life += 1
        for index in members.indices { members[index].clear() }
    }

    mutating func start() { isUp = true }
}
