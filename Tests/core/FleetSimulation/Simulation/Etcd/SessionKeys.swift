// SPDX-License-Identifier: MIT

import TokenCore

/// The keys of one session in etcd.
struct SessionKeyValues {
    private(set) var record: FleetHeader?
    private(set) var intent: FleetIntent?
    private(set) var lock: AttemptID?
    private(set) var lateResults: [LateResponse] = []

    init(_ record: FleetHeader) {
        self.record = record
    }

    /// Applies `transaction` if its conditions hold.
    ///
    /// - Returns: whether they held.
    mutating func apply(_ transaction: FleetTransaction) -> Bool {
        guard transaction.conditions.allSatisfy(holds) else { return false }
        for change in transaction.changes { apply(change) }
        return true
    }

    /// Removes the lock, whose lease has expired.
    mutating func unlock() { lock = nil }

    func view(_ place: FleetRevision, _ time: FleetTime) -> FleetSnapshot {
        FleetSnapshot(
            record: record,
            intent: intent,
            lock: lock,
            lateResults: lateResults,
            place: place,
            time: time
        )
    }

    private func holds(_ condition: FleetTransaction.Condition) -> Bool {
        switch condition {
        case .record(let value): record == value
        case .intent(let value): intent == value
        case .lock(let value): lock == value
        case .late(let late): lateResults.contains(late)
        case .noLate(let lineage, let parent):
            !lateResults.contains { $0.lineage == lineage && $0.parent == parent }
        }
    }

    private mutating func apply(_ change: FleetTransaction.Change) {
        switch change {
        case .putRecord(let value): record = value
        case .putIntent(let value): intent = value
        case .deleteIntent: intent = nil
        case .putLock(let value): lock = value
        case .deleteLock: lock = nil
        case .putLate(let late): lateResults = (lateResults.filter { $0 != late } + [late]).sorted()
        case .deleteLate(let late): lateResults.removeAll { $0 == late }
        case .deleteLates: lateResults = []
        }
    }
}

extension FleetTransaction {
    /// The size that the transaction adds to a watch response, in bytes.
    var responseBytes: Int {
        changes.reduce(EtcdCosts.responseBytes) { sum, change in
            switch change {
            case .putRecord: sum + EtcdCosts.recordBytes
            case .putIntent: sum + EtcdCosts.intentBytes
            case .putLock: sum + EtcdCosts.lockBytes
            case .putLate: sum + EtcdCosts.lateBytes
            case .deleteIntent, .deleteLock, .deleteLate, .deleteLates: sum + EtcdCosts.deletionBytes
            }
        }
    }

    var putsRecord: Bool {
        changes.contains { if case .putRecord = $0 { true } else { false } }
    }

    var takesLock: Bool {
        changes.contains { if case .putLock = $0 { true } else { false } }
    }
}
