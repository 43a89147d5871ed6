// SPDX-License-Identifier: MIT

import TokenCore

/// The history of one session: its records and their distribution.
struct SessionLedger {
    struct Entry {
        var record: FleetHeader
        /// The time at which the tokens were requested.
        var obtainedAt: Int64
        /// The time at which the record was committed to etcd.
        var committedAt: Int64
        /// The number of hosts with the record, including the one that committed it.
        var holders = 0
        /// The number of times the record's refresh token was sent, and the time of the first.
        var requests = 0
        var sentAt: Int64 = 0
    }

    private(set) var entries: [Entry]
    /// The time at which each attempt was sent.
    private var sent: [AttemptID: Int64] = [:]

    init(_ record: FleetHeader, obtainedAt: Int64) {
        entries = [Entry(record: record, obtainedAt: obtainedAt, committedAt: obtainedAt)]
    }

    /// Records that an attempt sends a record's refresh token.
    ///
    /// - Returns: whether no other attempt has sent it.
    mutating func send(_ attempt: AttemptID, of index: Int, at now: Int64) -> Bool {
        sent[attempt] = now
        if entries[index].requests == 0 { entries[index].sentAt = now }
        entries[index].requests += 1
        return entries[index].requests == 1
    }

    /// Returns the time since a record's refresh token was first sent.
    func age(of index: Int, at now: Int64) -> Int64 { now - entries[index].sentAt }

    mutating func commit(_ record: FleetHeader, at now: Int64) {
        entries.append(Entry(record: record, obtainedAt: sent[record.attempt] ?? now, committedAt: now))
    }

    /// Records that one more host has the record.
    ///
    /// - Returns: the number of hosts with the record.
    mutating func adopt(_ index: Int) -> Int {
        entries[index].holders += 1
        return entries[index].holders
    }

    func index(of record: FleetHeader) -> Int? { entries.lastIndex { $0.record == record } }
}
