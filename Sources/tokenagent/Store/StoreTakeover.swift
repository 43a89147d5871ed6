// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// Has the agent that uses a store stop, for the one that a service manager starts in its place.
///
/// The service manager has replaced the socket of the running agent: it cannot be asked over it any more, and no client
/// reaches it.
enum StoreTakeover {
    /// Stops the agent and waits until it has left the store; does nothing if there is none.
    ///
    /// - Throws: ``StartFailure`` if it does not stop. One that cannot be told apart is left to the store's own lock.
    static func run(_ stateDirectory: String) throws(StartFailure) {
        guard let lock = StoreLockFile(of: stateDirectory), lock.isHeld, let holder = lock.holder else {
            return
        }
        Console.tell("process \(holder) uses the store: stopping it to take its place")
        guard kill(holder, SIGTERM) == 0 || errno == ESRCH else { throw .system("stop process \(holder)") }
        guard lock.isFreed() else {
            throw StartFailure(
                .temporarilyUnavailable,
                "process \(holder) uses \(stateDirectory) and does not stop"
            )
        }
    }
}
