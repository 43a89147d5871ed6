// SPDX-License-Identifier: MIT

/// A comparing transaction on a session's keys: all changes if all conditions hold, else none.
///
/// Conditions compare exact values, never revisions: a restored snapshot reuses revision numbers. They name
/// only values that the latest ``FleetSnapshot`` showed or that this host has written itself, so the executor
/// has their bytes.
package struct FleetTransaction: Hashable, Sendable {
    /// A condition on one key of the session.
    package enum Condition: Hashable, Sendable {
        /// The record is exactly this one, or absent for `nil`.
        case record(FleetHeader?)
        /// The intent is exactly this one, or absent for `nil`.
        case intent(FleetIntent?)
        /// The lock is held for this attempt, or is free for `nil`.
        case lock(AttemptID?)
        /// The late response exists.
        case late(LateResponse)
        /// There is no late response to the refresh token of this generation.
        case noLate(Lineage, parent: UInt64)
    }

    /// A change of the session's keys.
    package enum Change: Hashable, Sendable {
        /// Writes both keys of the record, with refresh token (`rt`) and with access tokens (`at`).
        ///
        /// The tokens are those of the header's attempt. A header that is `out` has none.
        case putRecord(FleetHeader)
        case putIntent(FleetIntent)
        case deleteIntent
        /// Writes the lock, which expires with the lease that was granted last.
        case putLock(AttemptID)
        case deleteLock
        case putLate(LateResponse)
        case deleteLate(LateResponse)
        /// Deletes every late response of the session.
        case deleteLates
    }

    package var conditions: [Condition]
    package var changes: [Change]

    package init(if conditions: [Condition], then changes: [Change]) {
        self.conditions = conditions
        self.changes = changes
    }

    /// The record of the login that the transaction replaces with another one, or `nil` if there is none.
    package var replacedLogin: FleetHeader? {
        for case .putRecord(let new) in changes where new.isLive {
            for case .record(let old?) in conditions where old.status != .out && old.lineage != new.lineage {
                return old
            }
        }
        return nil
    }

    /// The attempts whose tokens the transaction writes.
    package var attempts: Set<AttemptID> {
        var attempts: Set<AttemptID> = []
        for change in changes {
            switch change {
            case .putRecord(let header): if header.status != .out { attempts.insert(header.attempt) }
            case .putLate(let late): attempts.insert(late.attempt)
            case .putIntent, .deleteIntent, .putLock, .deleteLock, .deleteLate, .deleteLates: break
            }
        }
        return attempts
    }
}
