// SPDX-License-Identifier: MIT

/// A response that found another one in its place.
///
/// It stays in etcd until it is used or proven useless.
package struct LateResponse: Hashable, Comparable, Sendable {
    package var lineage: Lineage
    /// The generation whose refresh token was sent for it.
    package var parent: UInt64
    package var attempt: AttemptID
    /// The mark of its refresh token, see ``FleetHeader/tokenMark``.
    package var tokenMark: UInt64
    /// The cluster of its attempt, see ``FleetHeader/cluster``.
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

    /// Orders late responses as they are tried, the later parent first.
    package static func < (left: LateResponse, right: LateResponse) -> Bool {
        (right.parent, left.attempt) < (left.parent, right.attempt)
    }
}
