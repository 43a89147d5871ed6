// SPDX-License-Identifier: MIT

import TokenCore

/// The writes of a shared session's record to this host's disk.
struct RecordWrites {
    private(set) var isUnderWay = false
    /// The record is to lose its tokens once it is written.
    private(set) var mustEraseTokens = false
    /// Writes of the session itself that wait for it.
    private var waiting: [CommitNumber] = []

    mutating func begin() { isUnderWay = true }

    /// - Returns: the session's own writes that have waited.
    mutating func end() -> [CommitNumber] {
        isUnderWay = false
        defer { waiting = [] }
        return waiting
    }

    mutating func wait(_ commit: CommitNumber) { waiting.append(commit) }

    /// The record is to lose its tokens.
    ///
    /// - Returns: whether that can be done now.
    mutating func requestTokenErasure() -> Bool {
        mustEraseTokens = isUnderWay
        return !isUnderWay
    }
}

/// Finds the records that have to be sealed anew, for whoever has an older key or finds no access tokens.
struct SealReview {
    /// The record that was last to be sealed anew.
    private var resealed: FleetHeader?
    /// What etcd has, whose record is being adopted: it is looked at after that.
    private(set) var unadopted: FleetReadResult?

    /// Takes what etcd has.
    ///
    /// - Returns: whether its record, which is the one that this host knows, is to be sealed anew.
    mutating func isOwed(in sight: FleetReadResult, knowing known: FleetHeader?, epoch: UInt32) -> Bool {
        unadopted = nil
        guard let found = sight.view.record else { return false }
        guard found == known else {
            unadopted = sight
            return false
        }
        let isWhole = sight.epoch >= epoch && sight.servesReaders
        let isNew = resealed != found
        resealed = isWhole ? nil : found
        return !isWhole && isNew
    }
}
