// SPDX-License-Identifier: MIT

/// A write of a host to etcd, with its conditions.
enum FleetWrite: Hashable, Sendable {
    /// Declares that the refresh token is about to be sent, replacing the previous declaration `over`.
    case reserve(RefreshClaim, over: FleetIntent?)
    /// Restores the keys as they were before a reservation.
    case release(RefreshClaim)
    /// Records in the intent that the server rejected the refresh token, for the host that confirms the
    /// rejection, and releases the lock.
    case doubt(RefreshClaim)
    /// Releases the lock, and leaves the intent.
    case unlock(AttemptID)
    /// Ends the login in etcd, because the server rejected the refresh token of this record.
    case declare(FleetHeader, RefreshClaim)
    /// Replaces the session's record in etcd with the response to its refresh.
    case commit(FleetHeader, StoredRefreshResult)
    /// Stores a late response in etcd, next to the session's record.
    case place(LateResponse, beside: FleetHeader?)
    /// Writes this host's record in place of an older one, with an intent if its refresh token may have been
    /// sent.
    case write(FleetHeader, over: FleetHeader?, FleetIntent?)
    /// Writes an intent for refreshes that etcd may have lost when it was restored from a snapshot.
    case mark(FleetIntent, on: FleetHeader, over: FleetIntent?)
    /// Replaces the session's record in etcd with a late response.
    case adopt(FleetHeader, LateResponse, over: FleetHeader)
    /// Writes the record and its intent again, sealed under the fleet's newest key.
    ///
    /// It is tried once: if etcd declines, another host has written them. Once the record is sealed under a
    /// newer key, no host accepts values under an older one.
    case reseal(FleetHeader, FleetIntent?)
    /// Deletes the late responses from etcd that are not needed any more.
    case erase([LateResponse], beside: FleetHeader?)

    var transaction: FleetTransaction {
        switch self {
        case .reserve(let hold, let former):
            FleetTransaction(
                if: [
                    .record(hold.record), .intent(former), .lock(nil),
                    .noLate(hold.record.lineage, parent: hold.record.generation),
                ],
                then: [.putLock(hold.intent.attempt), .putIntent(hold.intent)]
            )
        // While the intent is this host's, no other host holds the lock.
        case .release(let hold):
            FleetTransaction(
                if: [.intent(hold.intent)],
                then: [hold.former.map { .putIntent($0) } ?? .deleteIntent, .deleteLock]
            )
        case .doubt(let hold):
            FleetTransaction(
                if: [.intent(hold.intent)],
                then: [.putIntent(hold.intent.refused), .deleteLock]
            )
        case .unlock(let attempt): FleetTransaction(if: [.lock(attempt)], then: [.deleteLock])
        case .declare(let header, let hold):
            FleetTransaction(
                if: [
                    .record(hold.record), .intent(hold.intent),
                    .noLate(hold.record.lineage, parent: hold.record.generation),
                ],
                then: [.putRecord(header), .deleteIntent, .deleteLock]
            )
        // The lock is not compared: a late response is accepted while no host has taken over.
        case .commit(let header, let answer):
            FleetTransaction(
                if: [.record(answer.parent), .intent(answer.intent)],
                then: [.putRecord(header), .deleteIntent, .deleteLock]
            )
        case .place(let late, let record): FleetTransaction(if: [.record(record)], then: [.putLate(late)])
        case .write(let header, let old, let intent):
            FleetTransaction(
                if: [.record(old)],
                then: [.putRecord(header), intent.map { .putIntent($0) } ?? .deleteIntent]
                    + (header.status == .out || old?.lineage != header.lineage ? [.deleteLates] : [])
            )
        case .mark(let intent, let record, let former):
            FleetTransaction(
                if: [.record(record), .intent(former), .lock(nil)],
                then: [.putIntent(intent)]
            )
        case .adopt(let header, let late, let record):
            FleetTransaction(
                if: [.record(record), .lock(nil), .late(late)],
                then: [.putRecord(header), .deleteLate(late), .deleteIntent]
            )
        case .reseal(let record, let intent):
            FleetTransaction(
                if: [.record(record), .intent(intent), .lock(nil)],
                then: [.putRecord(record)] + (intent.map { [.putIntent($0)] } ?? [])
            )
        case .erase(let lateResults, let record):
            FleetTransaction(if: [.record(record)], then: lateResults.map { .deleteLate($0) })
        }
    }
}

// MARK: Afterwards

extension FleetWrite {
    /// Returns whether this write has ended the host's claim, after etcd carried out the write or declined
    /// it.
    func endsHold(_ isDone: Bool) -> Bool {
        switch self {
        case .reserve, .release, .doubt, .unlock: true
        case .declare: isDone
        case .commit, .place, .write, .mark, .adopt, .reseal, .erase: false
        }
    }

    /// Returns the state to make durable after etcd has carried out the write, with the actions that follow.
    ///
    /// - Returns: the state and the actions, or `nil` if the next read shows the result.
    func consequence(
        for memory: FleetPersistentState,
        in cluster: UInt64
    ) -> (FleetPersistentState, telling: [FleetAction])? {
        switch self {
        // A login or logout made meanwhile is first compared with the write.
        case .declare(let header, _), .adopt(let header, _, _):
            return memory.isUnpublished ? nil : (memory.with(header), [.adopt(header)])
        case .commit(let header, let answer):
            var next = memory.marked.with(header)
            next.answer = nil
            // The session lost these tokens when they were stored next to the record.
            return (next, answer.placedIn == nil ? [] : [.adopt(header)])
        case .place(let late, _) where late == memory.answer?.late:
            return (memory.placing(in: cluster), memory.record.map { [.adopt($0)] } ?? [])
        case .write(let header, _, _) where memory.isUnpublished || header != memory.record:
            return memory.adopting(header)
        case .mark where memory.isRestored: return (memory.marked, [])
        case .reserve, .release, .doubt, .unlock, .place, .write, .mark, .reseal, .erase: return nil
        }
    }
}
