// SPDX-License-Identifier: MIT

/// One comparing transaction on a session's keys: all changes if all conditions hold, else none.
///
/// Conditions compare exact values, never revisions: a restored snapshot uses the numbers of revisions again. They
/// name only what the latest ``FleetSnapshot`` showed or what this host has written itself, so whoever carries them out
/// has the bytes.
package struct FleetTransaction: Hashable, Sendable {
    package enum Condition: Hashable, Sendable {
        /// The record is this very one; `nil`: there is none.
        case record(FleetHeader?)
        /// The intent is this very one; `nil`: there is none.
        case intent(FleetIntent?)
        /// The lock is held for this attempt; `nil`: by nobody.
        case lock(AttemptID?)
        /// The late answer is there.
        case late(LateResponse)
        /// No answer to the refresh token of this generation is there.
        case noLate(Lineage, parent: UInt64)
    }

    package enum Change: Hashable, Sendable {
        /// Writes `rt` and `at` with the tokens of the header's attempt; none for a header that is `out`.
        case putRecord(FleetHeader)
        case putIntent(FleetIntent)
        case deleteIntent
        /// With the lease that was granted last.
        case putLock(AttemptID)
        case deleteLock
        case putLate(LateResponse)
        case deleteLate(LateResponse)
        /// Deletes every late answer of the session.
        case deleteLates
    }

    package var conditions: [Condition]
    package var changes: [Change]

    package init(if conditions: [Condition], then changes: [Change]) {
        self.conditions = conditions
        self.changes = changes
    }

    /// The record of the login that it replaces with another one; `nil`: none.
    package var replacedLogin: FleetHeader? {
        for case .putRecord(let new) in changes where new.isLive {
            for case .record(let old?) in conditions where old.status != .out && old.lineage != new.lineage {
                return old
            }
        }
        return nil
    }

    /// Whose tokens it writes.
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
