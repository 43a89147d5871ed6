// SPDX-License-Identifier: MIT

import TokenCore

/// The writes of a shared session's record to this host's disk.
struct RecordWrites {
    private(set) var isUnderWay = false
    /// Whether the tokens must be erased from the record once the active write ends.
    private(set) var mustEraseTokens = false
    /// The session's own writes, which wait for the active write.
    private var waiting: [CommitNumber] = []

    mutating func begin() { isUnderWay = true }

    /// Ends the active write.
    ///
    /// - Returns: The session's own writes that have waited.
    mutating func end() -> [CommitNumber] {
        isUnderWay = false
        defer { waiting = [] }
        return waiting
    }

    mutating func wait(_ commit: CommitNumber) { waiting.append(commit) }

    /// Requests that the record loses its tokens.
    ///
    /// - Returns: `true` if that can be done now.
    mutating func requestTokenErasure() -> Bool {
        mustEraseTokens = isUnderWay
        return !isUnderWay
    }
}

/// The decision whether a record in etcd must be sealed again: under the current key, or with tokens for
/// readers.
struct SealReview {
    /// The record that was last to be sealed again.
    private var resealed: FleetHeader?
    /// The latest read with a record that is still being adopted, to be examined after the adoption.
    private(set) var unadopted: FleetReadResult?

    /// Returns whether the record in `sight` must be sealed again.
    ///
    /// Only a record that this host knows is.
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
