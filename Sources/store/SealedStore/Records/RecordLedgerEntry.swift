// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The state of one session's files, as far as the store knows it.
struct RecordLedgerEntry {
    let id: RandomID
    /// The highest generation written so far, durable or not.
    var generation: UInt64
    /// The epoch of the master key under which the durable record is sealed, or `nil` if there is no durable
    /// record.
    var epoch: UInt32?
    /// The space reserved for the result of a refresh.
    var reservation: Reservation?
    /// Whether a file `ID.new` exists that is not ``reservation``: left by an earlier process or spoiled by
    /// an error.
    var hasStaleReservation = false
    /// The latest commit while it is not on the disk yet.
    var pending: PendingCommit?
    /// The generation of the latest commit that was written.
    var committed: UInt64
    /// Whether a file `ID.ans` may exist.
    var mayHaveAnswer = false

    init(id: RandomID, generation: UInt64 = 0, epoch: UInt32? = nil, committed: UInt64 = 0) {
        self.id = id
        self.generation = generation
        self.epoch = epoch
        self.committed = committed
    }

    /// An intent on disk, with reserved space for the commit that follows.
    struct Reservation {
        /// The file, kept open while the response is pending, so that a lack of descriptors cannot prevent
        /// the commit.
        var file: OpenFile?
        var half: Int
        var generation: UInt64
        var epoch: UInt32
        /// The fleet's ID of the refresh attempt, or `nil` if the session is not shared or an earlier process
        /// left the reservation.
        var attempt: AttemptID?
        /// The recording of the server's response, which another process writes to `ID.ans`.
        var answer: ResponseRecording?
    }

    /// A sealed commit that is not on the disk yet.
    struct PendingCommit {
        var sealed: [UInt8]
        var half: Int
        var generation: UInt64
        var epoch: UInt32
        var isInLifeboat: Bool
        var failure: StorageFailure
    }

    /// The epochs of the master keys that the session's files require.
    var epochs: Set<UInt32> {
        Set([epoch, reservation?.epoch, pending?.epoch].compactMap(\.self))
    }
}
