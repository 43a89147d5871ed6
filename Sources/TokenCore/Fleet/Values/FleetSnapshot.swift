// SPDX-License-Identifier: MIT

/// A snapshot of a session's keys, taken by one linearizable read.
package struct FleetSnapshot: Equatable, Sendable {
    package var record: FleetHeader?
    package var intent: FleetIntent?
    /// The attempt that holds the lock.
    package var lock: AttemptID?
    package var lates: [LateResponse]
    /// The generation whose token a reader requests to replace.
    package var wanted: UInt64?
    package var place: FleetRevision
    /// The `Date` of the response.
    package var time: FleetTime

    package init(
        record: FleetHeader?,
        intent: FleetIntent?,
        lock: AttemptID?,
        lates: [LateResponse],
        wanted: UInt64? = nil,
        place: FleetRevision,
        time: FleetTime
    ) {
        self.record = record
        self.intent = intent
        self.lock = lock
        self.lates = lates
        self.wanted = wanted
        self.place = place
        self.time = time
    }

    /// The record that a reader requests to replace, or `nil` if none does.
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
                "etcd was restored, emptied or repaired, and the hosts wait in case it has lost a refresh; a login ends that"
        }
        guard let intent = presentIntent, !intent.isRefused else {
            return presentIntent == nil
                ? "the hosts of the fleet take turns"
                : "the server refused the refresh token, and is asked once more"
        }
        return intent.attempt.host == host
            ? "the server did not answer this host's last refresh, or not for certain"
            : "the answer to another host's refresh has not come yet"
    }

    /// The intent to send the current refresh token, or `nil` if etcd knows of no host that has sent it.
    var presentIntent: FleetIntent? {
        guard let record, let intent, intent.concerns(record) else { return nil }
        return intent
    }
}

/// The position of an etcd response in its history.
///
/// Every response contains it.
package struct FleetRevision: Hashable, Sendable {
    /// The cluster.
    ///
    /// A restored snapshot is another one, if its members were given another token.
    package var cluster: UInt64
    /// The revision.
    ///
    /// It rises with every change, and falls only when a snapshot is restored.
    package var revision: Int64

    package init(cluster: UInt64, revision: Int64) {
        self.cluster = cluster
        self.revision = revision
    }

    /// Returns whether only a restored snapshot explains this revision.
    ///
    /// It is in a response to a request that was sent when `known` was known.
    func contradicts(_ known: FleetRevision) -> Bool {
        cluster != known.cluster || revision < known.revision
    }
}
