// SPDX-License-Identifier: MIT

import Glibc

/// Which users may connect to a socket.
struct PeerAccess: Equatable, Sendable {
    /// The administrator may, though the agent is another user's.
    var allowsRoot = false
    /// Users beside our own.
    var users: Set<uid_t> = []

    func admits(_ user: uid_t) -> Bool {
        user == geteuid() || user == 0 && allowsRoot || users.contains(user)
    }
}
