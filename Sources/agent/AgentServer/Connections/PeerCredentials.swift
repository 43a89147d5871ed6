// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The credentials of a connection's peer, which the kernel recorded when it connected.
struct PeerCredentials: Equatable, Sendable {
    var processID: pid_t
    var userID: uid_t

    init(processID: pid_t, userID: uid_t) {
        self.processID = processID
        self.userID = userID
    }

    /// Reads `SO_PEERCRED` of an accepted connection, or returns `nil` if the kernel does not provide it.
    init?(descriptor: CInt) {
        var processID: pid_t = 0
        var userID: uid_t = 0
        guard unsafe hardening_peer_credentials(descriptor, &processID, &userID) == 0 else { return nil }
        self.init(processID: processID, userID: userID)
    }
}
