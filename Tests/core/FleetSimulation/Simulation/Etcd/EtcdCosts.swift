// SPDX-License-Identifier: MIT

/// The costs of etcd's work: processor times in nanoseconds, and sizes in bytes.
///
/// They were measured with etcd 3.4.23 and its JSON gateway on two cores of a shared machine: the processor
/// time of the etcd process, divided by the number of operations, at 64 connections. A session's record has 3
/// kB (`rt` and `at`).
package struct EtcdCosts: Sendable {
    /// A range over the keys of one session.
    package var range: Int64 = 300_000
    /// Each further session in the same range.
    package var furtherSession: Int64 = 57_000
    package var grant: Int64 = 175_000
    /// A transaction that writes a lock and an intent.
    package var smallTransaction: Int64 = 440_000
    /// A transaction that writes a record.
    package var largeTransaction: Int64 = 680_000
    /// The work of each other member for a write.
    package var replication: Int64 = 120_000
    /// The work of each other member for a linearizable read.
    package var readIndex: Int64 = 12_000
    /// A watch response to one watcher, and each byte of it.
    package var response: Int64 = 74_000
    package var responseByte: Int64 = 22
    package var watch: Int64 = 450_000
    /// A new TLS connection with certificates of both sides (RSA, 2,048 bits).
    package var handshake: Int64 = 2_400_000
    /// An authentication with name and password: bcrypt with etcd's default cost of 10.
    package var authentication: Int64 = 65_000_000
    /// The time for a batch of writes to reach the log on disk, here and at one other member.
    package var logBatch: Int64 = 1_100_000
    /// The round-trip time to etcd.
    package var roundTrip: Int64 = 600_000

    /// The sizes of a transaction's watch response: the response itself, and each key in it.
    static let responseBytes = 250
    static let recordBytes = 4_057
    static let intentBytes = 330
    static let lockBytes = 145
    static let deletionBytes = 110
    static let lateBytes = 2_100
    /// The memory that an open watch takes in a member.
    static let watchMemory = 102_000

    package init() {}
}
