// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// The takeover of a store by an agent that a service manager starts.
///
/// The service manager has replaced the running agent's socket: no request reaches that agent any more, and
/// no client.
enum StoreTakeover {
    /// Stops the running agent and waits until it has released the store.
    ///
    /// Does nothing if there is none.
    ///
    /// - Throws: ``StartFailure`` if the agent does not stop. An agent that cannot be identified is left to
    ///   the store's lock.
    static func run(_ stateDirectory: String) throws(StartFailure) {
        guard let lock = StoreLockFile(of: stateDirectory), lock.isHeld, let holder = lock.holder else {
            return
        }
        Console.tell("stopping process \(holder), which uses the store")
        guard kill(holder, SIGTERM) == 0 || errno == ESRCH else { throw .system("stop process \(holder)") }
        guard lock.isFreed() else {
            throw StartFailure(
                .temporarilyUnavailable,
                "process \(holder) uses \(stateDirectory) and does not stop"
            )
        }
    }
}
