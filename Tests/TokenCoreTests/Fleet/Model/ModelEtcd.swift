// SPDX-License-Identifier: MIT

@testable import TokenCore

/// The keys of one session, carried out as etcd would.
struct ModelEtcd {
    struct Lock {
        var attempt: AttemptID
        var endsAt: Int64
    }

    var record: FleetHeader?
    /// Which bytes the record has: each time that it is sealed it is others.
    var sealing = 0
    /// How often it was sealed, also before a snapshot was restored.
    var sealings = 0
    var intent: FleetIntent?
    var lock: Lock?
    var lates: [LateResponse] = []
    var place = FleetRevision(cluster: 1, revision: 1)

    func view(at now: Int64) -> FleetSnapshot {
        FleetSnapshot(
            record: record,
            intent: intent,
            lock: lock?.attempt,
            lates: lates,
            place: place,
            time: FleetTime(seconds: now)
        )
    }

    /// Carries out `transaction`; `leaseEnds`: when the lease of its lock does, `sealing`: which bytes of the record the
    /// sender knows.
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
        // What a comparison of revisions would say after they were used again.
        case .record(let header):
            record == header && (header == nil || sealing == self.sealing) || fault == .revisionsCompared
                || fault == .logoutForgotten
        case .intent(let value):
            intent == value || fault == .revisionsCompared && intent != nil && value != nil
        case .lock(let attempt): lock?.attempt == attempt || fault == .foreignLockDeleted && attempt != nil
        case .late(let late): lates.contains(late)
        case .noLate(let lineage, let parent):
            fault == .lateAnswersIgnored || !lates.contains { $0.lineage == lineage && $0.parent == parent }
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
            guard fault != .lateAnswersDropped, !lates.contains(late) else { return }
            lates = (lates + [late]).sorted()
        case .deleteLate(let late): lates.removeAll { $0 == late }
        case .deleteLates: lates = []
        }
    }
}

/// One rule of the protocol, taken away outside of the code that is tested.
enum Fault: CaseIterable {
    /// A late answer to the present refresh token does not stop anybody from sending it again.
    case lateAnswersIgnored
    /// The alarm knows the end of the lease, and not that of the server's grace.
    case graceUnwatched
    /// A lock is deleted whoever holds it.
    case foreignLockDeleted
    /// A gateway's 502 counts as the server's own word that it did nothing.
    case gatewayBelieved
    /// The first refusal is believed, although a replica may lag.
    case refusalBelieved
    /// Conditions compare what a restored snapshot uses again.
    case revisionsCompared
    /// A restored snapshot looks like the etcd that was.
    case restoreUnseen
    /// A record that nobody proved by a refresh counts as proven.
    case provenForgotten
    /// What is laid beside the record does not get there.
    case lateAnswersDropped
    /// The request is sent although its alarm went off.
    case alarmIgnored
    /// What was recorded for a killed agent is not looked for.
    case recordingForgotten
    /// An answer is read only for as long as the server has to act.
    case answersCut
    /// A logout is taken back by whoever has not seen it.
    case logoutForgotten
}
