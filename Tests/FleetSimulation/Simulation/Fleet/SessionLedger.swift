// SPDX-License-Identifier: MIT

import TokenCore

/// What has become of one session: its records, and who has them.
struct SessionLedger {
    struct Entry {
        var record: FleetHeader
        /// When its tokens were asked for.
        var obtainedAt: Int64
        /// When it came into etcd.
        var committedAt: Int64
        /// How many hosts have it, the one that brought it among them.
        var holders = 0
        /// How often its refresh token was sent, and when first.
        var requests = 0
        var sentAt: Int64 = 0
    }

    private(set) var entries: [Entry]
    /// When each attempt that was sent was sent.
    private var sent: [AttemptID: Int64] = [:]

    init(_ record: FleetHeader, obtainedAt: Int64) {
        entries = [Entry(record: record, obtainedAt: obtainedAt, committedAt: obtainedAt)]
    }

    /// - Returns: whether no other attempt has sent the refresh token of this record.
    mutating func send(_ attempt: AttemptID, of index: Int, at now: Int64) -> Bool {
        sent[attempt] = now
        if entries[index].requests == 0 { entries[index].sentAt = now }
        entries[index].requests += 1
        return entries[index].requests == 1
    }

    /// How long ago the refresh token of a record that was sent was sent first.
    func age(of index: Int, at now: Int64) -> Int64 { now - entries[index].sentAt }

    mutating func commit(_ record: FleetHeader, at now: Int64) {
        entries.append(Entry(record: record, obtainedAt: sent[record.attempt] ?? now, committedAt: now))
    }

    /// One more host has the record.
    mutating func adopt(_ index: Int) -> Int {
        entries[index].holders += 1
        return entries[index].holders
    }

    func index(of record: FleetHeader) -> Int? { entries.lastIndex { $0.record == record } }
}
