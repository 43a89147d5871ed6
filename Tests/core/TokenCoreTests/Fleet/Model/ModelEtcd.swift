// SPDX-License-Identifier: MIT

@testable import TokenCore

/// A model of etcd with the keys of one session.
struct ModelEtcd {
    struct Lock {
        var attempt: AttemptID
        var endsAt: Int64
    }

    var record: FleetHeader?
    /// The number of the sealing that produced the record's bytes.
    ///
    /// Each sealing produces different bytes.
    var sealing = 0
    /// The total number of sealings, including those before a snapshot was restored.
    var sealings = 0
    var intent: FleetIntent?
    var lock: Lock?
    var lateResults: [LateResponse] = []
    var place = FleetRevision(cluster: 1, revision: 1)

    func view(at now: Int64) -> FleetSnapshot {
        FleetSnapshot(
            record: record,
            intent: intent,
            lock: lock?.attempt,
            lateResults: lateResults,
            place: place,
            time: FleetTime(seconds: now)
        )
    }

    /// Carries out `transaction`.
    ///
    /// Its lock's lease ends at `leaseEnds`, and its sender has last seen `sealing`.
    ///
    /// - Returns: `true` if the conditions held.
    mutating func apply(
        _ transaction: FleetTransaction,
        leaseEnds: Int64,
        knowing sealing: Int,
        _ fault: Fault?
    ) -> Bool {
        guard transaction.conditions.allSatisfy({ holds($0, knowing: sealing, fault) }) else { return false }
        for change in transaction.changes { apply(change, leaseEnds, fault) }
        place.revision += 1
        return true
    }

    private func holds(_ condition: FleetTransaction.Condition, knowing sealing: Int, _ fault: Fault?) -> Bool
    {
        switch condition {
        // The result of comparing revisions that a restored snapshot uses again.
        case .record(let header):
            record == header && (header == nil || sealing == self.sealing) || fault == .revisionsCompared
                || fault == .logoutForgotten
        case .intent(let value):
            intent == value || fault == .revisionsCompared && intent != nil && value != nil
        case .lock(let attempt): lock?.attempt == attempt || fault == .foreignLockDeleted && attempt != nil
        case .late(let late): lateResults.contains(late)
        case .noLate(let lineage, let parent):
            fault == .lateAnswersIgnored
                || !lateResults.contains { $0.lineage == lineage && $0.parent == parent }
        }
    }

    private mutating func apply(
        _ change: FleetTransaction.Change,
        _ leaseEnds: Int64,
        _ fault: Fault?
    ) {
        switch change {
        case .putRecord(var header):
            if fault == .provenForgotten { header.proven = max(header.generation, 1) - 1 }
            record = header
            sealings += 1
            sealing = sealings
        case .putIntent(let value): intent = value
        case .deleteIntent: intent = nil
        case .putLock(let attempt): lock = Lock(attempt: attempt, endsAt: leaseEnds)
        case .deleteLock: lock = nil
        case .putLate(let late):
            guard fault != .lateAnswersDropped, !lateResults.contains(late) else { return }
            lateResults = (lateResults + [late]).sorted()
        case .deleteLate(let late): lateResults.removeAll { $0 == late }
        case .deleteLates: lateResults = []
        }
    }
}

/// A rule of the protocol that the model breaks, outside of the code under test.
enum Fault: CaseIterable {
    /// A late response to the current refresh token does not prevent hosts from sending the token again.
    case lateAnswersIgnored
    /// The deadline depends on the lease, but not on the server's grace period.
    case graceUnwatched
    /// A lock is deleted by a host that does not hold it.
    case foreignLockDeleted
    /// A gateway's 502 counts as a statement of the server that it did nothing.
    case gatewayBelieved
    /// The first rejection is final, although a replica may lag.
    case refusalBelieved
    /// Conditions compare revisions, which a restored snapshot uses again.
    case revisionsCompared
    /// A restored snapshot cannot be distinguished from the previous etcd.
    case restoreUnseen
    /// A record that no refresh has proven counts as proven.
    case provenForgotten
    /// Late responses are not stored next to the record.
    case lateAnswersDropped
    /// The request is sent although its deadline has passed.
    case alarmIgnored
    /// The response recorded for a killed agent is not read.
    case recordingForgotten
    /// A response is read only until the server's time to act has passed.
    case answersCut
    /// A logout is undone by a host that has not seen it.
    case logoutForgotten
}
