// SPDX-License-Identifier: MIT

import Glibc

/// Which users may connect to a socket.
struct PeerAccess: Equatable, Sendable {
    /// Whether root may, although the agent belongs to another user.
    var allowsRoot = false
    /// Users beside our own.
    var users: Set<uid_t> = []

    func admits(_ user: uid_t) -> Bool {
        user == geteuid() || user == 0 && allowsRoot || users.contains(user)
    }
}
