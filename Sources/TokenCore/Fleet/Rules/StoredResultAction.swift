// SPDX-License-Identifier: MIT

/// A refresh token that this host was about to send: it is durable before it is sent, and a start after a crash finds it.
package struct PendingSend: Hashable, Sendable {
    /// The record whose refresh token it is.
    package var parent: FleetHeader
    /// What was written to etcd before.
    package var intent: FleetIntent
    /// The cluster in which the attempt was reserved.
    package var cluster: UInt64

    package init(parent: FleetHeader, intent: FleetIntent, cluster: UInt64) {
        self.parent = parent
        self.intent = intent
        self.cluster = cluster
    }
}

/// An answer of the token endpoint that is durable here and not yet settled in etcd.
package struct StoredRefreshResult: Hashable, Sendable {
    /// The record whose refresh token was sent.
    package var parent: FleetHeader
    /// What was written to etcd before it was sent.
    package var intent: FleetIntent
    package var tokenMark: UInt64
    /// The cluster in which the attempt was reserved.
    package var cluster: UInt64
    /// The cluster in which it lies as a late answer; it is kept here too, in case a snapshot from before is restored.
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

    /// The record that it becomes.
    var header: FleetHeader { parent.refreshed(by: attempt, tokenMark: tokenMark, in: cluster) }

    /// What is laid beside the record otherwise.
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

/// What is to be done with an answer that lies durable at the host which asked for it.
enum StoredResultAction: Equatable, Sendable {
    /// Nobody came between: it becomes the record.
    case commit
    /// It is the record, or its refresh token is: forget it.
    case forget
    /// It found another record or intent in its place: it is laid beside it.
    case place
    /// A later login or a logout came between: its tokens are revoked.
    case revoke
    /// etcd does not have the host's own record: that is written first.
    case afterWriting
    /// It lies beside the record already.
    case wait

    init(of answer: StoredRefreshResult, in memory: FleetPersistentState, _ view: FleetSnapshot) {
        if memory.isNews {
            // Until etcd has the login or logout, the others live on the old login.
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
        // The login has reached its greatest age.
        if record.isOver { return .forget }
        // The server gave the same successor twice.
        if record.tokenMark == answer.tokenMark { return .forget }
        // A refresh has worked with a younger token.
        if answer.parent.generation < record.proven { return .forget }
        if view.lates.contains(answer.late) { return answer.placedIn == nil ? .place : .wait }
        // Gone from where it was laid: it was of no use.
        return answer.placedIn == view.place.cluster ? .forget : .place
    }
}

extension FleetHeader {
    /// A record of a later login, or of a logout: no answer to an older token is of use.
    func supersedes(_ lineage: Lineage) -> Bool {
        guard self.lineage == lineage else { return self.lineage.number >= lineage.number }
        return status == .out
    }
}
