// SPDX-License-Identifier: MIT

import TokenCore

/// Turns sessions into sealed records under the current key.
struct RecordSealer {
    let ring: KeyRing
    let vault: Vault

    /// The record of `session` in the given phase.
    /// - Throws: ``StorageFailure`` when a token can not be taken from the vault.
    func seal(
        _ session: SessionName,
        _ snapshot: SessionSnapshot,
        _ entry: RecordEntry,
        _ phase: RecordHeader.Phase,
        at clock: ClockReading
    ) throws(StorageFailure) -> [UInt8] {
        let content = try SnapshotEncoder.encode(
            session,
            snapshot,
            secrets: vault,
            at: clock,
            record: entry.id,
            under: ring.current
        )
        return RecordSealing.seal(content, header(entry, phase), under: ring.current)
    }

    /// The record that says that the session was logged out.
    func tombstone(_ entry: RecordEntry) -> [UInt8] {
        RecordSealing.seal(WipedBytes(), header(entry, .tombstone), under: ring.current)
    }

    private func header(_ entry: RecordEntry, _ phase: RecordHeader.Phase) -> RecordHeader {
        RecordHeader(
            vault: ring.vault,
            record: entry.id,
            epoch: ring.current.epoch,
            generation: entry.generation,
            phase: phase
        )
    }
}
