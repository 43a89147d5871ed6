// SPDX-License-Identifier: MIT

/// An answer that found another one in its place, kept in etcd until it is of use or proven to be of none.
package struct LateResponse: Hashable, Comparable, Sendable {
    package var lineage: Lineage
    /// The generation whose refresh token was sent for it.
    package var parent: UInt64
    package var attempt: AttemptID
    /// As ``FleetHeader/tokenMark``.
    package var tokenMark: UInt64
    /// As ``FleetHeader/cluster``.
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

    /// The later parent first: the order in which they are tried.
    package static func < (left: LateResponse, right: LateResponse) -> Bool {
        (right.parent, left.attempt) < (left.parent, right.attempt)
    }
}
