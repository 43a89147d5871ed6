// SPDX-License-Identifier: MIT

import TokenCore

/// The writes of a shared session's record to this host's disk: the active one and those that wait for it.
struct RecordDiskWrites {
    private(set) var isUnderWay = false
    /// Whether the tokens must be erased from the record once the active write ends.
    private(set) var mustEraseTokens = false
    /// The commits of the session itself, which wait until the active write has ended.
    private var waiting: [CommitNumber] = []

    mutating func begin() { isUnderWay = true }

    /// Records that the active write has ended.
    ///
    /// - Returns: The commits of the session that have waited.
    mutating func end() -> [CommitNumber] {
        isUnderWay = false
        defer { waiting = [] }
        return waiting
    }

    mutating func wait(_ commit: CommitNumber) { waiting.append(commit) }

    /// Requests that the tokens are erased from the record.
    ///
    /// - Returns: `true` if the caller can erase them now. Otherwise the active write must end first.
    mutating func requestTokenErasure() -> Bool {
        mustEraseTokens = isUnderWay
        return !isUnderWay
    }
}

/// The decision whether this host must seal a record in etcd again: under the current key, or with tokens for
/// readers.
struct ResealDecision {
    /// The last record for which ``isOwed(knowing:epoch:)`` returned `true`.
    private var resealed: FleetHeader?
    /// The latest read of a record that this host is still adopting, to be examined after the adoption.
    private(set) var unadopted: FleetReadResult?

    /// Returns whether the record in `readResult` must be sealed again.
    ///
    /// A record is examined only if this host has adopted it.
    mutating func isOwed(in readResult: FleetReadResult, knowing known: FleetHeader?, epoch: UInt32) -> Bool {
        unadopted = nil
        guard let found = readResult.view.record else { return false }
        guard found == known else {
            unadopted = readResult
            return false
        }
        let isWhole = readResult.epoch >= epoch && readResult.servesReaders
        let isNew = resealed != found
        resealed = isWhole ? nil : found
        return !isWhole && isNew
    }
}
