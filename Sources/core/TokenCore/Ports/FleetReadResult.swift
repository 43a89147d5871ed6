// SPDX-License-Identifier: MIT

/// The result of one read of a session's keys, with the exact bytes of each.
package struct FleetReadResult: Equatable, Sendable {
    package var session: SessionName
    package var view: FleetSnapshot
    /// The sealed values by the bytes of their keys.
    package var values: [[UInt8]: [UInt8]]
    /// The highest epoch of the fleet's keys under which one of the values is sealed.
    package var epoch: UInt32
    /// The late responses that cannot be opened, each with its reason.
    ///
    /// They exist nevertheless, so nothing may delete them.
    package var unreadableLates: [String]
    /// Whether readers find the access tokens of the record, as far as this host can tell.
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

    /// Applies a successful transaction of this host, so that later conditions may name the values it wrote.
    package mutating func note(_ transaction: SealedFleetTransaction) {
        for change in transaction.decided.changes {
            switch change {
            case .putRecord(let header): view.record = header
            case .putIntent(let intent): view.intent = intent
            case .deleteIntent: view.intent = nil
            case .putLock(let attempt): view.lock = attempt
            case .deleteLock: view.lock = nil
            case .putLate(let late): if !view.lateResults.contains(late) { view.lateResults.append(late) }
            case .deleteLate(let late): view.lateResults.removeAll { $0 == late }
            case .deleteLates: view.lateResults = []
            }
        }
        values.merge(transaction.values) { $1 }
    }
}

/// A transaction as it is sent to etcd.
package struct SealedFleetTransaction: Equatable, Sendable {
    /// A condition on etcd's keys, as bytes.
    package enum Condition: Equatable, Sendable {
        /// The key does not exist.
        case absent([UInt8])
        /// No key exists from `start` on and before `end`.
        case noneBetween([UInt8], [UInt8])
        case value([UInt8], [UInt8])
    }

    /// A change of etcd's keys, as bytes.
    package enum Change: Equatable, Sendable {
        /// Puts a value under a key. If `isLeased`, the key ends with ``SealedFleetTransaction/lease``.
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

    /// The values that the transaction puts, by the bytes of their keys.
    package var values: [[UInt8]: [UInt8]] {
        var values: [[UInt8]: [UInt8]] = [:]
        for case .put(let key, let value, _) in changes { values[key] = value }
        return values
    }
}

/// A granted lease.
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

/// The result of a transaction that etcd responded to.
package struct FleetTransactionResult: Equatable, Sendable {
    package var isDone: Bool
    package var place: FleetRevision

    package init(isDone: Bool, place: FleetRevision) {
        self.isDone = isDone
        self.place = place
    }
}
