// SPDX-License-Identifier: MIT

/// What the fleet knows of a session's record without opening it.
///
/// The tokens themselves belong to ``attempt``: records with the same attempt hold the same tokens.
package struct FleetHeader: Hashable, Sendable {
    package enum Status: Hashable, Sendable {
        /// A login that is refreshed. Next: `live` of the next generation, `dead`, `out`.
        case live
        /// A late answer took the place of a dead record, and nobody knows whether its refresh token is good: it is
        /// tried at once. Next: `live`, `dead`, `out`.
        case rescued
        /// The server refused the refresh token, and no late answer is left to try; or the login, or the refresh token, has
        /// reached its end.
        /// Next: `rescued` when a late answer turns up, or a later login.
        case dead(EndReason)
        /// Logged out by a person. Next: a later login.
        case out
    }

    package var lineage: Lineage
    /// 0 for a login, and one more for every record that follows.
    package var generation: UInt64
    /// Who brought the tokens.
    package var attempt: AttemptID
    package var status: Status
    /// The generation whose refresh token was sent in the last refresh that worked.
    ///
    /// An answer to an older token is of no use any more; one to this or a newer token may be the one that the server
    /// counts.
    package var proven: UInt64
    /// 64 bits of a keyed hash of the refresh token: tells whether two answers brought the same one.
    package var tokenMark: UInt64
    /// The cluster in which the attempt was made that brought the tokens.
    ///
    /// In another cluster, one restored from a snapshot, intents to send them may be missing.
    package var cluster: UInt64

    package init(
        lineage: Lineage,
        generation: UInt64,
        attempt: AttemptID,
        status: Status,
        proven: UInt64,
        tokenMark: UInt64,
        cluster: UInt64
    ) {
        self.lineage = lineage
        self.generation = generation
        self.attempt = attempt
        self.status = status
        self.proven = proven
        self.tokenMark = tokenMark
        self.cluster = cluster
    }

    /// No cluster has this number, as far as anybody can tell: the host has not seen one yet.
    static let nowhere: UInt64 = 0

    /// A login that is not in etcd yet.
    init(login lineage: Lineage, _ attempt: AttemptID, tokenMark: UInt64, in cluster: UInt64?) {
        self.init(
            lineage: lineage,
            generation: 0,
            attempt: attempt,
            status: .live,
            proven: 0,
            tokenMark: tokenMark,
            cluster: cluster ?? FleetHeader.nowhere
        )
    }

    /// Its refresh token may be sent.
    package var isLive: Bool { status == .live || status == .rescued }

    /// Its login is over, whatever tokens turn up: a person logged out, or it has reached its greatest age.
    var isOver: Bool { status == .out || status == .dead(.sessionTooOld) }

    /// It says that `record` has ended.
    func ends(_ record: FleetHeader) -> Bool {
        guard case .dead(let reason) = status, record.isLive else { return false }
        return self == record.refused(reason)
    }

    /// The record of a refresh of this one.
    func refreshed(by attempt: AttemptID, tokenMark: UInt64, in cluster: UInt64) -> FleetHeader {
        var next = successor(.live)
        next.attempt = attempt
        next.proven = generation
        next.tokenMark = tokenMark
        next.cluster = cluster
        return next
    }

    /// The record after the server refused the refresh token of this one, or the login has ended by itself.
    func refused(_ reason: EndReason) -> FleetHeader { successor(.dead(reason)) }

    /// The record with the tokens of `late` in place of its own.
    func replaced(by late: LateResponse) -> FleetHeader {
        var next = successor(isLive ? .live : .rescued)
        next.attempt = late.attempt
        next.tokenMark = late.tokenMark
        next.cluster = late.cluster
        return next
    }

    /// The record after a logout.
    func loggedOut() -> FleetHeader { successor(.out) }

    private func successor(_ status: Status) -> FleetHeader {
        var next = self
        next.status = status
        // Nobody gets there by counting, but a record that says so must not end the process.
        next.generation = generation == .max ? .max : generation + 1
        return next
    }
}
