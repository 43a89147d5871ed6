// SPDX-License-Identifier: MIT

/// A write of a host to etcd, with its conditions.
enum FleetWrite: Hashable, Sendable {
    /// Declares that the refresh token is about to be sent, replacing the previous declaration `over`.
    case reserve(RefreshClaim, over: FleetIntent?)
    /// Undoes a reservation as if it had not been made.
    case release(RefreshClaim)
    /// Records that the server rejected the token, for the host that confirms it, and releases the lock.
    case doubt(RefreshClaim)
    /// Releases the lock, and leaves the intent.
    case unlock(AttemptID)
    /// Declares the record dead whose refresh token was rejected.
    case declare(FleetHeader, RefreshClaim)
    /// Makes a response the record.
    case commit(FleetHeader, StoredRefreshResult)
    /// Stores a response next to the record.
    case place(LateResponse, beside: FleetHeader?)
    /// Writes the host's own record over an older one, with an intent if the token may have been sent.
    case write(FleetHeader, over: FleetHeader?, FleetIntent?)
    /// Declares refreshes that a restored snapshot may have lost.
    case mark(FleetIntent, on: FleetHeader, over: FleetIntent?)
    /// Makes a late response the record.
    case adopt(FleetHeader, LateResponse, over: FleetHeader)
    /// Writes the record and its intent again, sealed under the newest key.
    ///
    /// It is tried once: if etcd declines, another host has written them. Once the record is sealed under a
    /// newer key, no host accepts values under an older one.
    case reseal(FleetHeader, FleetIntent?)
    /// Removes late responses that are not needed.
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
        case .erase(let lates, let record):
            FleetTransaction(if: [.record(record)], then: lates.map { .deleteLate($0) })
        }
    }
}

// MARK: Afterwards

extension FleetWrite {
    /// Returns whether the claim of this write is over after etcd's response.
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
            return memory.isNews ? nil : (memory.with(header), [.adopt(header)])
        case .commit(let header, let answer):
            var next = memory.marked.with(header)
            next.answer = nil
            // The session lost these tokens when they were stored next to the record.
            return (next, answer.placedIn == nil ? [] : [.adopt(header)])
        case .place(let late, _) where late == memory.answer?.late:
            return (memory.placing(in: cluster), memory.record.map { [.adopt($0)] } ?? [])
        case .write(let header, _, _) where memory.isNews || header != memory.record:
            return memory.adopting(header)
        case .mark where memory.isRestored: return (memory.marked, [])
        case .reserve, .release, .doubt, .unlock, .place, .write, .mark, .reseal, .erase: return nil
        }
    }
}
