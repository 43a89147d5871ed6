// SPDX-License-Identifier: MIT

import Glibc

/// The signals that tests send.
package struct Signal: Equatable, Sendable {
    package let number: Int32

    package static let hangUp = Signal(number: SIGHUP)
    package static let interrupt = Signal(number: SIGINT)
    package static let kill = Signal(number: SIGKILL)
    package static let proceed = Signal(number: SIGCONT)
    package static let stop = Signal(number: SIGSTOP)
    package static let user1 = Signal(number: SIGUSR1)
    package static let terminate = Signal(number: SIGTERM)
}

/// The Unix user who runs the tests.
package enum TestUser {
    package static var isRoot: Bool { getuid() == 0 }
}
