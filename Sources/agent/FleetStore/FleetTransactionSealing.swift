// SPDX-License-Identifier: MIT

import SealedStore
import TokenCore

/// The sealing of one member's transaction, with the exact bytes of one read in its conditions.
struct FleetTransactionSealing {
    let records: FleetRecords
    let readResult: FleetReadResult
    let contents: [AttemptID: FleetSessionContent]
    let lease: FleetLease?
    let clock: EtcdClockReading

    private var session: SessionName { readResult.session }
    private var names: FleetNames { records.names }

    func sealed(_ transaction: FleetTransaction) throws(FleetStoreError) -> SealedFleetTransaction {
        var sealed = SealedFleetTransaction(transaction, if: [], then: [], lease: lease?.id)
        for condition in transaction.conditions { sealed.conditions.append(try self.condition(condition)) }
        for change in transaction.changes { sealed.changes += try changes(change) }
        return sealed
    }

    // MARK: Conditions

    private func condition(
        _ condition: FleetTransaction.Condition
    ) throws(FleetStoreError) -> SealedFleetTransaction.Condition {
        let view = readResult.view
        return switch condition {
        case .record(let header): try same(.record, isThere: header != nil, isSeen: view.record == header)
        case .intent(let intent): try same(.intent, isThere: intent != nil, isSeen: view.intent == intent)
        case .lock(let lock): try same(.lock, isThere: lock != nil, isSeen: view.lock == lock)
        case .late(let late): try same(late.kind, isThere: true, isSeen: view.lateResults.contains(late))
        case .noLate(let lineage, let parent): noneBetween(lineage, parent)
        }
    }

    /// Returns the condition that the value under a key is the one that was read, or that there is none.
    private func same(
        _ kind: FleetEtcdKey.Kind,
        isThere: Bool,
        isSeen: Bool
    ) throws(FleetStoreError) -> SealedFleetTransaction.Condition {
        let key = bytes(of: kind)
        guard isThere else { return .absent(key) }
        guard isSeen, let value = readResult.values[key] else {
            throw FleetStoreError(.unknownValue, "a condition refers to a value that was not read")
        }
        return .value(key, value)
    }

    private func noneBetween(_ lineage: Lineage, _ parent: UInt64) -> SealedFleetTransaction.Condition {
        let range = names.lateResults(of: names.name(of: session), lineage, parent: parent)
        return .noneBetween(range.start, range.end)
    }

    // MARK: Changes

    private func changes(
        _ change: FleetTransaction.Change
    ) throws(FleetStoreError) -> [SealedFleetTransaction.Change] {
        switch change {
        case .putRecord(let header):
            let values = try FleetStoreError.sealing { () throws(StorageFailure) in
                try records.values(header, contents[header.attempt], of: session, at: clock)
            }
            return [put(values.record, .record), put(values.access, .access)]
        case .putIntent(let intent):
            return [
                put(
                    try FleetStoreError.sealing { () throws(StorageFailure) in
                        try records.value(intent, of: session)
                    },
                    .intent
                )
            ]
        case .putLock(let attempt):
            guard lease != nil else { throw FleetStoreError(.unknownValue, "a lock requires a lease") }
            return [.put(bytes(of: .lock), FleetRecords.value(lock: attempt), isLeased: true)]
        case .putLate(let late):
            guard let content = contents[late.attempt] else {
                throw FleetStoreError(.unknownValue, "the tokens of a late response are missing")
            }
            let value = try FleetStoreError.sealing { () throws(StorageFailure) in
                try records.value(late, content, of: session, at: clock)
            }
            return [put(value, late.kind)]
        case .deleteIntent: return [.delete(bytes(of: .intent))]
        case .deleteLock: return [.delete(bytes(of: .lock))]
        case .deleteLate(let late): return [.delete(bytes(of: late.kind))]
        case .deleteLates:
            // An unreadable late response may contain the only tokens.
            if let reason = readResult.unreadableLates.first {
                throw FleetStoreError(
                    .unreadable,
                    "a late response of \(session) in etcd \(reason)",
                    remedy: FleetStoreError.repair(session, at: records.role)
                )
            }
            let range = names.lateResults(of: names.name(of: session))
            return [.deleteBetween(range.start, range.end)]
        }
    }

    /// Returns the write of a value.
    ///
    /// Without a value the key is deleted, so that no older part of a record remains.
    private func put(_ value: [UInt8]?, _ kind: FleetEtcdKey.Kind) -> SealedFleetTransaction.Change {
        let key = bytes(of: kind)
        return value.map { .put(key, $0, isLeased: false) } ?? .delete(key)
    }

    private func bytes(of kind: FleetEtcdKey.Kind) -> [UInt8] {
        names.bytes(of: FleetEtcdKey(kind, of: names.name(of: session)))
    }
}
