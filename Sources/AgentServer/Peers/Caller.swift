// SPDX-License-Identifier: MIT

import Glibc
import TokenCore

/// Who is at the other end of a connection, and where it came in.
struct Caller {
    /// The process that connected.
    let peer: Peer
    /// The `[[socket]]` it connected to; `nil`: the agent's own socket.
    let restrictedPath: String?
    /// When the connection was accepted, or a moment later.
    let acceptedAt: Instant
    /// What is known of the peer's process, where rules ask for it.
    let witness: PeerWitness
    /// Whether it is the agent's own user, who can read the configuration, at the agent's own socket.
    let isOwnUserAtOwnSocket: Bool

    init(
        _ peer: Peer,
        restrictedPath: String? = nil,
        acceptedAt: Instant = Instant(nanoseconds: .max)
    ) {
        self.peer = peer
        self.restrictedPath = restrictedPath
        self.acceptedAt = acceptedAt
        witness = PeerWitness(process: peer.processID)
        isOwnUserAtOwnSocket = restrictedPath == nil && peer.userID == geteuid()
    }
}
