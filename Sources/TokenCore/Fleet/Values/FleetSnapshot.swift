// SPDX-License-Identifier: MIT

/// What one linearizable read of a session's keys shows.
package struct FleetSnapshot: Equatable, Sendable {
    package var record: FleetHeader?
    package var intent: FleetIntent?
    /// Who holds the lock.
    package var lock: AttemptID?
    package var lates: [LateResponse]
    /// The generation that a reader wants another token than.
    package var wanted: UInt64?
    package var place: FleetRevision
    /// The `Date` of the answer.
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

    /// The record that a reader wants another than; `nil`: none does.
    var recordAsked: FleetHeader? {
        guard let record, record.isLive, wanted == record.generation else { return nil }
        return record
    }

    /// etcd was put back to a snapshot, emptied or repaired, and a refresh may have been lost with what it had.
    package var mayHaveLostRefresh: Bool { presentIntent?.attempt == .lost }

    /// Whether somebody has logged out of the login that `known` is the record of.
    package func isOver(_ known: FleetHeader?) -> Bool {
        guard let known, known.isLive, record?.status == .out else { return false }
        return RecordOrdering(of: record, to: known) == .newer
    }

    /// Why the host `host` may not send the present refresh token now, without a full stop.
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

    /// The intent to send the present refresh token; `nil`: nobody has sent it, as far as etcd knows.
    var presentIntent: FleetIntent? {
        guard let record, let intent, intent.concerns(record) else { return nil }
        return intent
    }
}

/// Where an answer of etcd stands in its history; every answer carries it.
package struct FleetRevision: Hashable, Sendable {
    /// A restored snapshot is another cluster, if its members were given another token.
    package var cluster: UInt64
    /// Rises with every change, and falls only when a snapshot is restored.
    package var revision: Int64

    package init(cluster: UInt64, revision: Int64) {
        self.cluster = cluster
        self.revision = revision
    }

    /// Only a restored snapshot explains `self` in an answer to a request that was sent when `known` was known.
    func contradicts(_ known: FleetRevision) -> Bool {
        cluster != known.cluster || revision < known.revision
    }
}
