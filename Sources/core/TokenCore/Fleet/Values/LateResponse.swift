// SPDX-License-Identifier: MIT

/// A refresh response that came too late to become the session's record in etcd.
///
/// Another host had changed the record in the meantime. The response stays in etcd, next to the record, until
/// it is used or proven useless.
package struct LateResponse: Hashable, Comparable, Sendable {
    package var lineage: Lineage
    /// The generation of the record whose refresh token was sent.
    package var parent: UInt64
    package var attempt: AttemptID
    /// The mark of the refresh token in the response, see ``FleetHeader/tokenMark``.
    package var tokenMark: UInt64
    /// The cluster in which the attempt was made, see ``FleetHeader/cluster``.
    package var cluster: UInt64

    package init(
        lineage: Lineage,
        parent: UInt64,
        attempt: AttemptID,
        tokenMark: UInt64,
        cluster: UInt64
    ) {
        self.lineage = lineage
        self.parent = parent
        self.attempt = attempt
        self.tokenMark = tokenMark
        self.cluster = cluster
    }

    /// Orders late responses in the order in which hosts try them: the one with the later ``parent`` first.
    package static func < (left: LateResponse, right: LateResponse) -> Bool {
        (right.parent, left.attempt) < (left.parent, right.attempt)
    }
}
