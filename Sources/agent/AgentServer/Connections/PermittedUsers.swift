// SPDX-License-Identifier: MIT

import Glibc

/// The users that may connect to a socket.
struct PermittedUsers: Equatable, Sendable {
    /// Whether root may connect although the agent belongs to another user.
    var allowsRoot = false
    /// The IDs of users that may connect in addition to the agent's own.
    var users: Set<uid_t> = []

    func admits(_ user: uid_t) -> Bool {
        user == geteuid() || user == 0 && allowsRoot || users.contains(user)
    }
}
