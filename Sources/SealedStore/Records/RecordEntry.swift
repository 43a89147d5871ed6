// SPDX-License-Identifier: MIT

import TokenCore

/// What the store knows about one session's files.
struct RecordEntry {
    let id: RandomID
    /// The highest generation written so far, durable or not.
    var generation: UInt64
    /// The epoch of the key the durable record is sealed under; `nil` while there is none.
    var epoch: UInt32?
    /// Room made for the answer to a refresh.
    var reservation: Reservation?
    /// A file `ID.new` exists that is not ``reservation``: left by an earlier process or spoiled by an error.
    var hasStaleReservation = false
    /// The latest commit, while it is not on the disk yet.
    var pending: PendingCommit?
    /// The generation of the latest commit that was written.
    var committed: UInt64
    /// A file `ID.ans` may exist.
    var mayHaveAnswer = false

    init(id: RandomID, generation: UInt64 = 0, epoch: UInt32? = nil, committed: UInt64 = 0) {
        self.id = id
        self.generation = generation
        self.epoch = epoch
        self.committed = committed
    }

    struct Reservation {
        /// Open while the answer is awaited, so that a lack of descriptors cannot prevent the commit.
        var file: OpenFile?
        var half: Int
        var generation: UInt64
        var epoch: UInt32
        /// The attempt that the fleet knows of; `nil`: the session is this host's alone, or it was left by an earlier process.
        var attempt: AttemptID?
        /// Where the answer is recorded meanwhile.
        var answer: ResponseRecording?
    }

    struct PendingCommit {
        var sealed: [UInt8]
        var half: Int
        var generation: UInt64
        var epoch: UInt32
        var isInLifeboat: Bool
        var failure: StorageFailure
    }

    /// The keys its files need.
    var epochs: Set<UInt32> {
        Set([epoch, reservation?.epoch, pending?.epoch].compactMap(\.self))
    }
}
