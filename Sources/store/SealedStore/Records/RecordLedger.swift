// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The records of an unlocked store: the files of each session, and the protocol that changes them.
struct RecordLedger {
    let files: RecordFiles
    let memory: SealedMemory
    var ring: KeyRing
    var entries: [SessionName: RecordLedgerEntry]
    var manifest: Manifest
    /// The number of durable commits that the manifest file does not contain yet.
    var unnoted = 0

    private var sealer: RecordSealer { RecordSealer(ring: ring, memory: memory) }

    /// Writes the intent of `session` to send its refresh token durably, with space for the result.
    mutating func reserve(
        _ session: SessionName,
        _ snapshot: SessionSnapshot,
        at clock: @escaping @Sendable () -> ClockReading
    ) throws(StorageFailure) {
        var entry = entries[session] ?? RecordLedgerEntry(id: .random())
        let attempt = snapshot.fleet?.memory.sending?.intent.attempt
        if try resumeReservation(of: &entry, for: attempt) {
            prepareAnswer(&entry, clock)
            entries[session] = entry
            return
        }
        entry.generation += 1
        let intent = try sealer.seal(session, snapshot, entry, .intent, at: clock())
        let half = RecordFiles.half(for: intent)
        // Created before the directory is flushed, so that the flush covers this name too.
        let fresh = entry.mayHaveAnswer ? nil : try? files.makeAnswer(of: entry.id)
        do throws(StoreFileError) {
            let file = try files.reserve(entry.id, intent, half: half, replacing: entry.hasStaleReservation)
            entry.hasStaleReservation = false
            entry.reservation = RecordLedgerEntry.Reservation(
                file: file,
                half: half,
                generation: entry.generation,
                epoch: ring.current.epoch,
                attempt: attempt,
                answer: entry.reservation?.answer
            )
            prepareAnswer(&entry, clock, fresh)
            entries[session] = entry
        } catch {
            if fresh != nil { files.removeAnswer(of: entry.id) }
            entry.reservation = nil
            if files.directory.contains(RecordFiles.Role.reservation.name(of: entry.id)) {
                entry.hasStaleReservation = true
            }
            entries[session] = entry
            throw files.failure("cannot reserve \(2 * half / 1024) KiB of disk space for \(session)", error)
        }
    }

    /// Sets up the recording of the response to the reserved attempt, and finds a response that was recorded
    /// for an earlier attempt.
    private func prepareAnswer(
        _ entry: inout RecordLedgerEntry,
        _ clock: @escaping @Sendable () -> ClockReading,
        _ fresh: OpenFile? = nil
    ) {
        guard let reservation = entry.reservation else { return }
        // A response that this process has already received would only be delivered again.
        let hasLeft = fresh == nil && entry.mayHaveAnswer && reservation.answer?.wasAnswered != true
        entry.mayHaveAnswer = true
        entry.reservation?.answer = ResponseRecording(
            files: files,
            head: ResponseRecordingHeader(
                vault: ring.vault,
                record: entry.id,
                epoch: ring.current.epoch,
                generation: reservation.generation
            ),
            ring: ring,
            committed: entry.committed,
            clock: clock,
            fresh: fresh,
            left: hasLeft ? files.recoveredResponse(of: entry.id) : nil
        )
    }

    /// Returns the recording for the reserved attempt of `session`.
    func responseRecording(of session: SessionName) -> ResponseRecording? {
        entries[session]?.reservation?.answer
    }

    private func removeAnswer(of entry: inout RecordLedgerEntry) {
        guard entry.mayHaveAnswer else { return }
        entry.mayHaveAnswer = false
        files.removeAnswer(of: entry.id)
    }

    /// Uses the reservation again of an attempt that got no response, because its intent is still valid.
    ///
    /// In a fleet, the intent names the attempt, so another attempt requires another intent.
    private func resumeReservation(
        of entry: inout RecordLedgerEntry,
        for attempt: AttemptID?
    ) throws(StorageFailure) -> Bool {
        guard let reservation = entry.reservation else { return false }
        guard reservation.attempt == attempt else {
            entry.hasStaleReservation = true
            return false
        }
        guard reservation.file == nil else { return true }
        do throws(StoreFileError) {
            entry.reservation?.file = try files.reopenReservation(of: entry.id)
            return true
        } catch {
            entry.reservation = nil
            entry.hasStaleReservation = error != .missing
            guard case .system = error else { return false }
            throw files.failure("cannot open the reserved disk space", error)
        }
    }

    /// Writes `snapshot` durably to the disk.
    ///
    /// If the disk rejects the write, the commit goes to the lifeboat in the runtime directory, or stays in
    /// memory only.
    mutating func commit(
        _ session: SessionName,
        _ snapshot: SessionSnapshot,
        at clock: ClockReading
    ) -> CommitDurability {
        var entry = entries[session] ?? RecordLedgerEntry(id: .random())
        defer { entries[session] = entry }
        do throws(StorageFailure) {
            let sealer = sealer
            try write(&entry) { entry throws(StorageFailure) in
                try sealer.seal(session, snapshot, entry, .commit, at: clock)
            }
            return .durable
        } catch {
            return rescue(&entry, error)
        }
    }

    /// Writes the result of `seal` into the entry's reservation, or else into a new file.
    ///
    /// A file whose flush failed is never flushed again; the next attempt uses another inode and a higher
    /// generation.
    mutating func write(
        _ entry: inout RecordLedgerEntry,
        _ seal: (RecordLedgerEntry) throws(StorageFailure) -> [UInt8]
    ) throws(StorageFailure) {
        if try commitIntoReservation(&entry, seal) { return }
        entry.generation += 1
        let sealed = try seal(entry)
        let half = RecordFiles.half(for: sealed)
        entry.pending = RecordLedgerEntry.PendingCommit(
            sealed: sealed,
            half: half,
            generation: entry.generation,
            epoch: ring.current.epoch,
            isInLifeboat: entry.pending?.isInLifeboat ?? false,
            failure: StorageFailure(message: "not written yet")
        )
        try writePending(&entry)
    }

    /// Writes the result of `seal` into the reserved half of the file.
    ///
    /// If the write fails, the reservation cannot be used any more.
    private mutating func commitIntoReservation(
        _ entry: inout RecordLedgerEntry,
        _ seal: (RecordLedgerEntry) throws(StorageFailure) -> [UInt8]
    ) throws(StorageFailure) -> Bool {
        guard let reservation = entry.reservation else { return false }
        entry.reservation = nil
        entry.hasStaleReservation = true
        entry.generation = max(entry.generation, reservation.generation)
        let sealed = try seal(entry)
        guard sealed.count <= reservation.half else { return false }
        do throws(StoreFileError) {
            let reopened = reservation.file == nil ? try files.reopenReservation(of: entry.id) : nil
            guard let file = reservation.file ?? reopened else { return false }
            try files.commit(sealed, into: file, half: reservation.half, of: entry.id)
        } catch {
            return false
        }
        entry.hasStaleReservation = false
        reachedDisk(&entry, entry.generation, ring.current.epoch)
        return true
    }

    /// Writes the pending commit of `entry`, which the disk rejected before.
    mutating func writePending(_ entry: inout RecordLedgerEntry) throws(StorageFailure) {
        guard let pending = entry.pending else { return }
        do throws(StoreFileError) {
            try files.replace(
                entry.id,
                pending.sealed,
                half: pending.half,
                dropsReservation: entry.hasStaleReservation
            )
        } catch {
            throw files.failure("cannot write the record", error)
        }
        entry.hasStaleReservation = false
        reachedDisk(&entry, pending.generation, pending.epoch)
    }

    private mutating func reachedDisk(_ entry: inout RecordLedgerEntry, _ generation: UInt64, _ epoch: UInt32)
    {
        if entry.pending?.isInLifeboat == true { files.removeLifeboat(of: entry.id) }
        entry.pending = nil
        entry.epoch = epoch
        entry.committed = max(entry.committed, generation)
        removeAnswer(of: &entry)
        manifest.record(entry.id, generation)
        unnoted += 1
    }

    /// Writes a commit that the disk rejected into the lifeboat, or keeps it in memory.
    private func rescue(_ entry: inout RecordLedgerEntry, _ failure: StorageFailure) -> CommitDurability {
        guard let pending = entry.pending else { return .memoryOnly(failure) }
        entry.pending?.failure = failure
        do throws(StoreFileError) {
            try files.board(entry.id, pending.sealed, half: pending.half)
            entry.pending?.isInLifeboat = true
            return .lifeboat(failure)
        } catch {
            return .memoryOnly(failure)
        }
    }

    /// Removes the reservation of an attempt that brought no new tokens, or keeps it for the next attempt if the
    /// server has not answered.
    mutating func release(_ session: SessionName, answered: Bool) {
        guard var entry = entries[session] else { return }
        defer { entries[session] = entry }
        guard answered else {
            entry.reservation?.file = nil
            return
        }
        guard entry.reservation != nil || entry.hasStaleReservation else { return }
        entry.reservation = nil
        removeAnswer(of: &entry)
        do throws(StoreFileError) {
            try files.removeReservation(of: entry.id)
            entry.hasStaleReservation = false
        } catch {
            entry.hasStaleReservation = true
        }
    }

    /// Makes the logout of `session` durable and removes its files.
    mutating func forget(_ session: SessionName) throws(StorageFailure) {
        guard var entry = entries[session] else { return }
        let sealer = sealer
        try? write(&entry) { sealer.tombstone($0) }
        do throws(StoreFileError) {
            try files.remove(entry.id)
        } catch {
            // The tombstone is sufficient: the next start removes the files it covers.
            guard entry.pending == nil else {
                entries[session] = entry
                throw files.failure("cannot remove the record of \(session)", error)
            }
        }
        manifest.record(entry.id, entry.generation)
        manifest.remove([entry.id])
        unnoted += 1
        entries[session] = nil
    }
}

extension RecordFiles {
    /// Returns a disk failure with a message for the user.
    func failure(_ attempt: String, _ fault: StoreFileError) -> StorageFailure {
        StorageFailure(message: "\(attempt) in \(directory.path): \(fault)")
    }
}
