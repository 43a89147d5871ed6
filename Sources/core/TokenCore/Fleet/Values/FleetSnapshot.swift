// SPDX-License-Identifier: MIT

/// A snapshot of a session's keys, taken by one linearizable read.
package struct FleetSnapshot: Equatable, Sendable {
    package var record: FleetHeader?
    package var intent: FleetIntent?
    /// The attempt that holds the lock.
    package var lock: AttemptID?
    package var lateResults: [LateResponse]
    /// The generation of the record for which a reader requests a newer token, or `nil` if none does.
    package var wanted: UInt64?
    package var place: FleetRevision
    /// The time of the snapshot, by etcd's clock.
    package var time: FleetTime

    package init(
        record: FleetHeader?,
        intent: FleetIntent?,
        lock: AttemptID?,
        lateResults: [LateResponse],
        wanted: UInt64? = nil,
        place: FleetRevision,
        time: FleetTime
    ) {
        self.record = record
        self.intent = intent
        self.lock = lock
        self.lateResults = lateResults
        self.wanted = wanted
        self.place = place
        self.time = time
    }

    /// The record for which a reader requests a newer token, or `nil` if none does.
    var recordAsked: FleetHeader? {
        guard let record, record.isLive, wanted == record.generation else { return nil }
        return record
    }

    /// Whether etcd was restored from a snapshot, emptied or repaired, and may have lost a refresh.
    package var mayHaveLostRefresh: Bool { presentIntent?.attempt == .lost }

    /// Returns whether a user has logged out of the login that `known` belongs to.
    package func isOver(_ known: FleetHeader?) -> Bool {
        guard let known, known.isLive, record?.status == .out else { return false }
        return RecordOrdering(of: record, to: known) == .newer
    }

    /// Returns the reason `host` may not send the current refresh token now, without a full stop.
    package func reasonToWait(at host: UInt64) -> String {
        if mayHaveLostRefresh {
            return
                "etcd was restored, emptied or repaired, and may have lost a refresh; a new login ends the wait"
        }
        guard let intent = presentIntent, !intent.isRefused else {
            return presentIntent == nil
                ? "the hosts of the fleet take turns"
                : "the server rejected the refresh token and will be tried once more"
        }
        return intent.attempt.host == host
            ? "no certain response to this host's last refresh"
            : "waiting for the response to another host's refresh"
    }

    /// The intent for the current record's refresh token, or `nil` if no host may have sent that token.
    var presentIntent: FleetIntent? {
        guard let record, let intent, intent.concerns(record) else { return nil }
        return intent
    }
}

/// The position in etcd's history to which a response belongs.
///
/// Every response of etcd contains the position.
package struct FleetRevision: Hashable, Sendable {
    /// The ID of the etcd cluster.
    ///
    /// A cluster restored from a snapshot has another ID, if its members were given another token.
    package var cluster: UInt64
    /// The revision.
    ///
    /// It rises with every change, and falls only when a snapshot is restored.
    package var revision: Int64

    package init(cluster: UInt64, revision: Int64) {
        self.cluster = cluster
        self.revision = revision
    }

    /// Returns whether etcd must have been restored from a snapshot since `known`, because this position
    /// cannot follow it.
    ///
    /// This position is from a response to a request that was sent when `known` was known.
    func contradicts(_ known: FleetRevision) -> Bool {
        cluster != known.cluster || revision < known.revision
    }
}
