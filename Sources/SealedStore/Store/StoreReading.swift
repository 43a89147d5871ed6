// SPDX-License-Identifier: MIT

import TokenCore

/// Reading stored sessions once more, while the store is unlocked.
extension SessionStore {
    /// Every stored session as its latest commit has it, with its secrets sealed anew.
    ///
    /// For a configuration that names a session again: what was read when the store was unlocked is old by now.
    /// The caller owns the secrets. A record that does not open is left out.
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
    /// The newest commit of `entry`, even if it is not on the disk yet; `nil` when it does not open.
    fileprivate func latest(_ entry: RecordEntry, in files: RecordFiles) -> OpenedRecord.Content? {
        if let pending = entry.pending { return try? content(of: pending.sealed, entry.id) }
        guard let file = try? files.directory.open(RecordFiles.Role.record.name(of: entry.id)) else {
            return nil
        }
        return (try? commit(in: file, of: entry.id))?.content
    }
}
