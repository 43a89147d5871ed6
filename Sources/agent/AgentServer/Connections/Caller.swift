// SPDX-License-Identifier: MIT

import Glibc
import TokenCore

/// The peer of a connection, and the socket on which it connected.
///
/// - Entry points: ``Caller`` for the connection, ``PeerInspector`` for the peer's process, ``Confirmations``
///   for the user's consent, and the extension of ``LiveConfiguration`` for what is visible to a peer.
/// - May not: trust what a peer says about itself. The audit log records it as a claim.
/// - Runs on: the agent's event loop.
struct Caller {
    /// The process that connected.
    let peer: PeerCredentials
    /// The path of the `[[socket]]` that it connected to, or `nil` for the agent's own socket.
    let socketPath: String?
    /// The restriction to the tokens of some sessions, or `nil` if there is none.
    private(set) var restriction: ConnectionRestriction?
    /// The time at which the connection was accepted, or a moment later.
    let acceptedAt: Instant
    /// The identity of the peer's process, where rules require it.
    let witness: PeerIdentityVerifier
    private let isOwnUser: Bool

    init(
        _ peer: PeerCredentials,
        socketPath: String? = nil,
        acceptedAt: Instant = Instant(nanoseconds: .max)
    ) {
        self.peer = peer
        self.socketPath = socketPath
        restriction = socketPath.map { .socket(path: $0) }
        self.acceptedAt = acceptedAt
        witness = PeerIdentityVerifier(process: peer.processID)
        isOwnUser = peer.userID == geteuid()
    }

    /// Whether the connection is restricted to the tokens of some sessions.
    var isRestricted: Bool { restriction != nil }

    /// Whether the peer is the agent's own Unix user, who can read the configuration, at the agent's own
    /// socket.
    var isOwnUserAtOwnSocket: Bool { isOwnUser && !isRestricted }

    /// Restricts the connection to the sessions in `forwarding`.
    mutating func restrict(to forwarding: ForwardingRestriction) {
        restriction = .forwarding(forwarding)
        witness.forgetOrigin()
    }
}
