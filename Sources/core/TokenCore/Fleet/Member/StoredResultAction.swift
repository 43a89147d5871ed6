// SPDX-License-Identifier: MIT

/// A request with a refresh token that this host is about to send.
///
/// It is durable before it is sent, so a start after a crash finds it.
package struct PendingSend: Hashable, Sendable {
    /// The record that contains the refresh token.
    package var parent: FleetHeader
    /// The intent that was written to etcd before the refresh token may be sent.
    package var intent: FleetIntent
    /// The cluster in which the attempt was reserved.
    package var cluster: UInt64

    package init(parent: FleetHeader, intent: FleetIntent, cluster: UInt64) {
        self.parent = parent
        self.intent = intent
        self.cluster = cluster
    }
}

/// A response of the token endpoint that is durable on this host, but not settled in etcd yet.
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

    /// The late response that is stored in etcd if the response cannot become the record.
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

/// The action for a token response that is durable on the host which sent the request.
enum StoredResultAction: Equatable, Sendable {
    /// Make the response the session's record in etcd: the record and the intent there are still those of the
    /// request.
    case commit
    /// Forget the response: it already is the record, or its tokens are not needed any more.
    case forget
    /// Store the response in etcd as a late response, because another host has replaced the record or the
    /// intent.
    case place
    /// Revoke the tokens of the response, because a later login or a logout came between.
    case revoke
    /// Write the host's own record first, because etcd does not have it.
    case afterWriting
    /// Wait: the response is already stored in etcd as a late response.
    case wait

    init(of answer: StoredRefreshResult, in memory: FleetPersistentState, _ view: FleetSnapshot) {
        if memory.isUnpublished {
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
        if view.lateResults.contains(answer.late) { return answer.placedIn == nil ? .place : .wait }
        // The late response was removed from this cluster, so it was not needed.
        return answer.placedIn == view.place.cluster ? .forget : .place
    }
}

extension FleetHeader {
    /// Returns whether this record is of a later login than `lineage` or of a logout, so that tokens of
    /// `lineage` are of no use.
    func supersedes(_ lineage: Lineage) -> Bool {
        guard self.lineage == lineage else { return self.lineage.number >= lineage.number }
        return status == .out
    }
}
