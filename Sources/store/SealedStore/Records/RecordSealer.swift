// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// The encoder of sessions as sealed records under the current key.
struct RecordSealer {
    let ring: KeyRing
    let memory: SealedMemory

    /// Seals the record of `session` in the given phase, with at most ``RecordSealing/maximumCount`` bytes.
    ///
    /// Tokens of further scopes and audiences are left out if they do not fit: unlike the login, they can be
    /// obtained again after a restart.
    ///
    /// - Throws: ``StorageFailure`` if a token cannot be read from sealed memory, or the login itself does
    ///   not fit.
    func seal(
        _ session: SessionName,
        _ snapshot: SessionSnapshot,
        _ entry: RecordLedgerEntry,
        _ phase: RecordHeader.ContentKind,
        at clock: ClockReading
    ) throws(StorageFailure) -> [UInt8] {
        let whole = try sealedContent(session, snapshot, entry, phase, at: clock)
        guard whole.count > RecordSealing.maximumCount else { return whole }
        let least = try sealedContent(session, snapshot.withoutVariants, entry, phase, at: clock)
        guard least.count > RecordSealing.maximumCount else { return least }
        let limit = RecordSealing.maximumCount >> 20
        throw StorageFailure(
            message:
                "the tokens of \(session) are too long to store: \(least.count) bytes, more than \(limit) MiB"
        )
    }

    /// Seals a record with everything in `snapshot`, however long.
    func sealedContent(
        _ session: SessionName,
        _ snapshot: SessionSnapshot,
        _ entry: RecordLedgerEntry,
        _ phase: RecordHeader.ContentKind,
        at clock: ClockReading
    ) throws(StorageFailure) -> [UInt8] {
        let content = try SnapshotEncoder.encode(
            session,
            snapshot,
            secrets: memory,
            at: clock,
            under: RecordSecretSealing(record: entry.id, master: ring.current)
        )
        return RecordSealing.seal(content, header(entry, phase), under: ring.current)
    }

    /// Returns the record of a logout.
    func tombstone(_ entry: RecordLedgerEntry) -> [UInt8] {
        RecordSealing.seal(WipedBytes(), header(entry, .tombstone), under: ring.current)
    }

    private func header(_ entry: RecordLedgerEntry, _ phase: RecordHeader.ContentKind) -> RecordHeader {
        RecordHeader(
            vault: ring.vault,
            record: entry.id,
            epoch: ring.current.epoch,
            generation: entry.generation,
            phase: phase
        )
    }
}
