// SPDX-License-Identifier: MIT

/// What one look at a session's keys showed, with the exact bytes under each of them.
package struct FleetReadResult: Equatable, Sendable {
    package var session: SessionName
    package var view: FleetSnapshot
    /// Sealed values by the bytes of their keys.
    package var values: [[UInt8]: [UInt8]]
    /// The highest epoch of the fleet's keys that one of them is sealed under.
    package var epoch: UInt32
    /// Late answers that do not open, each with its reason.
    ///
    /// They are there all the same: nothing may delete them.
    package var unreadableLates: [String]
    /// Readers find the access tokens of the record; as far as this host can tell.
    package var servesReaders = true

    package init(
        session: SessionName,
        view: FleetSnapshot,
        values: [[UInt8]: [UInt8]] = [:],
        epoch: UInt32,
        unreadableLates: [String] = []
    ) {
        self.session = session
        self.view = view
        self.values = values
        self.epoch = epoch
        self.unreadableLates = unreadableLates
    }

    /// As after a transaction of this host's own that was carried out: later conditions may name what it wrote.
    package mutating func note(_ transaction: SealedFleetTransaction) {
        for change in transaction.decided.changes {
            switch change {
            case .putRecord(let header): view.record = header
            case .putIntent(let intent): view.intent = intent
            case .deleteIntent: view.intent = nil
            case .putLock(let attempt): view.lock = attempt
            case .deleteLock: view.lock = nil
            case .putLate(let late): if !view.lates.contains(late) { view.lates.append(late) }
            case .deleteLate(let late): view.lates.removeAll { $0 == late }
            case .deleteLates: view.lates = []
            }
        }
        values.merge(transaction.values) { $1 }
    }
}

/// A transaction as it is sent to etcd.
package struct SealedFleetTransaction: Equatable, Sendable {
    /// One condition on etcd's keys, all as bytes.
    package enum Condition: Equatable, Sendable {
        /// There is no such key.
        case absent([UInt8])
        /// There is no key from `start` on and before `end`.
        case noneBetween([UInt8], [UInt8])
        case value([UInt8], [UInt8])
    }

    package enum Change: Equatable, Sendable {
        /// `isLeased`: the key ends with ``SealedFleetTransaction/lease``.
        case put([UInt8], [UInt8], isLeased: Bool)
        case delete([UInt8])
        case deleteBetween([UInt8], [UInt8])
    }

    package var decided: FleetTransaction
    package var conditions: [Condition]
    package var changes: [Change]
    package var lease: Int64?

    package init(
        _ decided: FleetTransaction,
        if conditions: [Condition],
        then changes: [Change],
        lease: Int64?
    ) {
        self.decided = decided
        self.conditions = conditions
        self.changes = changes
        self.lease = lease
    }

    /// What it puts, by the bytes of the keys.
    package var values: [[UInt8]: [UInt8]] {
        var values: [[UInt8]: [UInt8]] = [:]
        for case .put(let key, let value, _) in changes { values[key] = value }
        return values
    }
}

/// A lease that was granted.
package struct FleetLease: Equatable, Sendable {
    package var id: Int64
    package var lifetime: Duration
    package var place: FleetRevision

    package init(id: Int64, lifetime: Duration, place: FleetRevision) {
        self.id = id
        self.lifetime = lifetime
        self.place = place
    }
}

/// What became of a transaction that was answered.
package struct FleetOutcome: Equatable, Sendable {
    package var isDone: Bool
    package var place: FleetRevision

    package init(isDone: Bool, place: FleetRevision) {
        self.isDone = isDone
        self.place = place
    }
}
