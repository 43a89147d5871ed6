// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// Work for which no caller waits.
extension SessionStore {
    /// The number of records that one round moves from older keys to the current key.
    private static let resealingLimit = 64

    /// The delay from the last call to the store until ``maintain()`` is due, or `nil` if it is not due
    /// before the next commit.
    package var maintenanceDelay: Duration? {
        work.withLock { work in
            guard let ledger = work.ledger else { return nil }
            if !ledger.pendingCommits.isEmpty {
                return .seconds(min(60, 5 << min(work.failedRounds, 4)))
            }
            return ledger.unnoted > 0 || !ledger.ring.older.isEmpty ? .seconds(30) : nil
        }
    }

    /// Retries commits that are not on the disk yet, writes the manifest, and moves records to the current
    /// key.
    ///
    /// - Returns: the sessions that became durable.
    @discardableResult
    package func maintain() -> [SessionName] {
        work.withLock { work in
            guard var ledger = work.ledger else { return [] }
            let before = ledger.pendingSessions
            _ = ledger.writeAllPending()
            let after = Set(ledger.pendingSessions)
            work.failedRounds = after.isEmpty ? 0 : work.failedRounds + 1
            if !ledger.ring.older.isEmpty { ledger.reseal(limit: SessionStore.resealingLimit, at: clock) }
            work.ledger = ledger
            retireOlderKeys(&work)
            recordGenerations(&work)
            publish(work)
            return before.filter { !after.contains($0) }
        }
    }

    private func retireOlderKeys(_ work: inout MutableState) {
        guard let ledger = work.ledger, !ledger.ring.older.isEmpty, var keeper = work.keeper,
            resealRegistrations(&work)
        else { return }
        do throws(StoreError) {
            let ring = try keeper.dropOlderKeys(keeping: ledger.epochs, ring: ledger.ring)
            work.keeper = keeper
            work.ledger?.ring = ring
        } catch {
            // The older keys stay until the next round.
        }
    }
}

extension RecordLedger {
    /// The sessions whose latest commit is not on the disk.
    var pendingSessions: [SessionName] {
        entries.filter { $0.value.pending != nil }.map(\.key).sorted()
    }

    var pendingCommits: [RandomID: RecordLedgerEntry.PendingCommit] {
        var commits: [RandomID: RecordLedgerEntry.PendingCommit] = [:]
        for entry in entries.values { commits[entry.id] = entry.pending }
        return commits
    }

    /// The epochs of all keys that some file still requires.
    var epochs: Set<UInt32> {
        entries.values.reduce(into: []) { $0.formUnion($1.epochs) }
    }

    /// Retries writing all commits that the disk rejected.
    ///
    /// - Returns: a problem for each session that is still not durable.
    mutating func writeAllPending() -> [StoreProblem] {
        var problems: [StoreProblem] = []
        for session in pendingSessions {
            guard var entry = entries[session] else { continue }
            do throws(StorageFailure) {
                try writePending(&entry)
            } catch {
                let sentence = "the tokens of \(session) are not yet on disk: \(error.message)"
                problems.append(StoreProblem(kind: .notDurable, session: session, description: sentence))
            }
            entries[session] = entry
        }
        return problems
    }

    /// Rewrites up to `limit` idle records under the current key.
    mutating func reseal(limit: Int, at clock: ClockReading) {
        let reader = RecordReader(ring: ring, memory: memory, clock: clock)
        let old = entries.filter { $0.value.epoch != ring.current.epoch && $0.value.isIdle }.prefix(limit)
        for (session, entry) in old {
            guard let file = try? files.directory.open(RecordFiles.Role.record.name(of: entry.id)),
                let opened = try? reader.commit(in: file, of: entry.id), let content = opened.content
            else { continue }
            _ = commit(session, content.snapshot, at: clock)
            reader.discard(opened)
        }
    }
}

extension RecordLedgerEntry {
    /// Whether no refresh is in flight and nothing waits to be written.
    fileprivate var isIdle: Bool { reservation == nil && pending == nil && !hasStaleReservation }
}
