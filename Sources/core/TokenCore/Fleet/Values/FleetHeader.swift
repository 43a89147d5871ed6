// SPDX-License-Identifier: MIT

/// The metadata of a session's record: the part that decisions about the record need, without its tokens.
///
/// The tokens themselves belong to ``attempt``: records with the same attempt contain the same tokens.
package struct FleetHeader: Hashable, Sendable {
    /// The state of the login at this record.
    package enum LoginStatus: Hashable, Sendable {
        /// The login is refreshed. Next: `live` of the next generation, `dead`, `out`.
        case live
        /// A late response replaced a dead record. Its refresh token may be valid, and is tried at once.
        ///
        /// Next: `live`, `dead`, `out`.
        case rescued
        /// The server rejected the refresh token, and no late response is left to try. Or the login or the
        /// refresh token has expired.
        ///
        /// Next: `rescued` when a late response arrives, or a later login.
        case dead(EndReason)
        /// The user logged out. Next: a later login.
        case out
    }

    package var lineage: Lineage
    /// The generation: 0 for a login, and one more for every record that follows.
    package var generation: UInt64
    /// The attempt that obtained the tokens.
    package var attempt: AttemptID
    package var status: LoginStatus
    /// The generation of the record whose refresh token was sent in the last successful refresh.
    ///
    /// A response to an older token is useless. One to this or a newer token may be the one that the server
    /// accepts.
    package var proven: UInt64
    /// 64 bits of a keyed hash of the refresh token, which show whether two responses contained the same
    /// token.
    package var tokenMark: UInt64
    /// The etcd cluster in which the attempt that obtained the tokens was made.
    ///
    /// Another cluster, restored from a snapshot, may lack intents to send them.
    package var cluster: UInt64

    package init(
        lineage: Lineage,
        generation: UInt64,
        attempt: AttemptID,
        status: LoginStatus,
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

    /// The value of ``cluster`` before the host has seen a cluster.
    static let nowhere: UInt64 = 0

    /// Creates the record of a login that is not in etcd yet.
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

    /// Whether the refresh token may be sent.
    package var isLive: Bool { status == .live || status == .rescued }

    /// Whether the login has ended for good, so that no late response can continue it: by a logout or at its
    /// maximum age.
    var isOver: Bool { status == .out || status == .dead(.sessionTooOld) }

    /// Returns whether this record is the successor of `record` that declares its login ended.
    func ends(_ record: FleetHeader) -> Bool {
        guard case .dead(let reason) = status, record.isLive else { return false }
        return self == record.refused(reason)
    }

    /// Returns the record that follows this one after a successful refresh.
    func refreshed(by attempt: AttemptID, tokenMark: UInt64, in cluster: UInt64) -> FleetHeader {
        var next = successor(.live)
        next.attempt = attempt
        next.proven = generation
        next.tokenMark = tokenMark
        next.cluster = cluster
        return next
    }

    /// Returns the record that follows this one after the server rejected the refresh token, or the login
    /// ended by itself.
    func refused(_ reason: EndReason) -> FleetHeader { successor(.dead(reason)) }

    /// Returns the record that follows this one with the tokens of `late`.
    func replaced(by late: LateResponse) -> FleetHeader {
        var next = successor(isLive ? .live : .rescued)
        next.attempt = late.attempt
        next.tokenMark = late.tokenMark
        next.cluster = late.cluster
        return next
    }

    /// Returns the record that follows this one after a logout.
    func loggedOut() -> FleetHeader { successor(.out) }

    private func successor(_ status: LoginStatus) -> FleetHeader {
        var next = self
        next.status = status
        // No record reaches the limit by counting, but a record that contains it must not crash the process.
        next.generation = generation == .max ? .max : generation + 1
        return next
    }
}
