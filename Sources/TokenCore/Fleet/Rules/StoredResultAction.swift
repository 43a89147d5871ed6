// SPDX-License-Identifier: MIT

/// A refresh token that this host is about to send.
///
/// It is durable before it is sent, so a start after a crash finds it.
package struct PendingSend: Hashable, Sendable {
    /// The record of the refresh token.
    package var parent: FleetHeader
    /// The intent that was written to etcd before.
    package var intent: FleetIntent
    /// The cluster in which the attempt was reserved.
    package var cluster: UInt64

    package init(parent: FleetHeader, intent: FleetIntent, cluster: UInt64) {
        self.parent = parent
        self.intent = intent
        self.cluster = cluster
    }
}

/// A response of the token endpoint that is durable here and not yet settled in etcd.
package struct StoredRefreshResult: Hashable, Sendable {
    /// The record whose refresh token was sent.
    package var parent: FleetHeader
    /// The intent that was written to etcd before sending.
    package var intent: FleetIntent
    package var tokenMark: UInt64
    /// The cluster in which the attempt was reserved.
    package var cluster: UInt64
    /// The cluster in which the response is stored as a late response.
    ///
    /// It is kept here too, in case an older snapshot is restored.
    package var placedIn: UInt64?

    package init(
        parent: FleetHeader,
        intent: FleetIntent,
        tokenMark: UInt64,
        cluster: UInt64,
        placedIn: UInt64? = nil
    ) {
        self.parent = parent
        self.intent = intent
        self.tokenMark = tokenMark
        self.cluster = cluster
        self.placedIn = placedIn
    }

    package var attempt: AttemptID { intent.attempt }
    var lineage: Lineage { parent.lineage }

    /// The record that the response becomes.
    var header: FleetHeader { parent.refreshed(by: attempt, tokenMark: tokenMark, in: cluster) }

    /// The late response that is stored next to the record otherwise.
    var late: LateResponse {
        LateResponse(
            lineage: lineage,
            parent: parent.generation,
            attempt: attempt,
            tokenMark: tokenMark,
            cluster: cluster
        )
    }
}

/// The action for a response that is durable at the host which requested it.
enum StoredResultAction: Equatable, Sendable {
    /// Make the response the record. Nothing came between.
    case commit
    /// Forget the response. It is the record, or its refresh token is.
    case forget
    /// Store the response next to the record. Another record or intent has taken its place.
    case place
    /// Revoke the tokens of the response, because a later login or a logout came between.
    case revoke
    /// Write the host's own record first, because etcd does not have it.
    case afterWriting
    /// Wait. The response is already stored next to the record.
    case wait

    init(of answer: StoredRefreshResult, in memory: FleetPersistentState, _ view: FleetSnapshot) {
        if memory.isNews {
            // Until etcd has the login or logout, the other hosts use the old login.
            self = .afterWriting
        } else if let own = memory.record, own.supersedes(answer.lineage) {
            self = .revoke
        } else if let record = view.record, record.lineage.number >= answer.lineage.number {
            self = StoredResultAction.settle(answer, record, view)
        } else {
            self = .afterWriting
        }
    }

    private static func settle(
        _ answer: StoredRefreshResult,
        _ record: FleetHeader,
        _ view: FleetSnapshot
    ) -> StoredResultAction {
        guard !record.supersedes(answer.lineage) else { return .revoke }
        if record == answer.parent, view.intent == answer.intent { return .commit }
        if record.isLive, record.attempt == answer.attempt { return .forget }
        if record.generation < answer.parent.generation { return .afterWriting }
        // The login has reached its maximum age.
        if record.isOver { return .forget }
        // The server issued the same successor twice.
        if record.tokenMark == answer.tokenMark { return .forget }
        // A refresh has worked with a newer token.
        if answer.parent.generation < record.proven { return .forget }
        if view.lates.contains(answer.late) { return answer.placedIn == nil ? .place : .wait }
        // The late response was removed from this cluster, so it was not needed.
        return answer.placedIn == view.place.cluster ? .forget : .place
    }
}

extension FleetHeader {
    /// Returns whether this is a record of a later login or of a logout, so that no response to an older
    /// token is of use.
    func supersedes(_ lineage: Lineage) -> Bool {
        guard self.lineage == lineage else { return self.lineage.number >= lineage.number }
        return status == .out
    }
}
