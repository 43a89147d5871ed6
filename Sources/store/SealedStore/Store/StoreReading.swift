// SPDX-License-Identifier: MIT

import TokenCore

/// Reading stored sessions again while the store is unlocked.
extension SessionStore {
    /// Reads the latest commit of every stored session, with its secrets sealed again.
    ///
    /// This is for a configuration that names a session again: the sessions read when the store was unlocked
    /// are outdated by then. The caller owns the secrets. A record that does not open is left out.
    package func readSessions() -> [LoadedSession] {
        work.withLock { work in
            guard let ledger = work.ledger else { return [] }
            let reader = RecordReader(ring: ledger.ring, memory: memory, clock: clock)
            return ledger.entries.values.compactMap { entry in
                guard let content = reader.latest(entry, in: files) else { return nil }
                return LoadedSession(content, interrupted: entry.reservation != nil)
            }
        }
    }
}

extension RecordReader {
    /// Returns the newest commit of `entry`, even if it is not on the disk yet, or `nil` if it does not open.
    fileprivate func latest(_ entry: RecordLedgerEntry, in files: RecordFiles) -> OpenedRecord.Content? {
        if let pending = entry.pending { return try? content(of: pending.sealed, entry.id) }
        guard let file = try? files.directory.open(RecordFiles.Role.record.name(of: entry.id)) else {
            return nil
        }
        return (try? commit(in: file, of: entry.id))?.content
    }
}
