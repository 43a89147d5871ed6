// SPDX-License-Identifier: MIT

import Glibc
import TokenCore

/// Who is at the other end of a connection, and where it came in.
struct Caller {
    /// The process that connected.
    let peer: PeerCredentials
    /// The `[[socket]]` it connected to; `nil`: the agent's own socket.
    let socketPath: String?
    /// What limits it to the tokens of some sessions; `nil`: nothing does.
    private(set) var restriction: Restriction?
    /// When the connection was accepted, or a moment later.
    let acceptedAt: Instant
    /// What is known of the peer's process, where rules ask for it.
    let witness: PeerVerifier
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
        witness = PeerVerifier(process: peer.processID)
        isOwnUser = peer.userID == geteuid()
    }

    /// Whether it is limited to the tokens of some sessions.
    var isRestricted: Bool { restriction != nil }

    /// Whether it is the agent's own user, who can read the configuration, at the agent's own socket.
    var isOwnUserAtOwnSocket: Bool { isOwnUser && !isRestricted }

    /// Limits it to what `forwarding` names.
    mutating func restrict(to forwarding: ForwardingRestriction) {
        restriction = .forwarding(forwarding)
        witness.forgetOrigin()
    }
}
