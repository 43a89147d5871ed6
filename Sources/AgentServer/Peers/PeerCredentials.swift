// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// Who is at the other end of a connection, as the kernel noted it when it connected.
struct PeerCredentials: Equatable, Sendable {
    var processID: pid_t
    var userID: uid_t

    init(processID: pid_t, userID: uid_t) {
        self.processID = processID
        self.userID = userID
    }

    /// Reads `SO_PEERCRED` of an accepted connection; `nil` when the kernel does not tell.
    init?(descriptor: CInt) {
        var processID: pid_t = 0
        var userID: uid_t = 0
        guard unsafe hardening_peer_credentials(descriptor, &processID, &userID) == 0 else { return nil }
        self.init(processID: processID, userID: userID)
    }
}
