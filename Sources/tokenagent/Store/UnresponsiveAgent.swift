// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc

/// The forced stop of an agent that does not respond at its socket.
enum UnresponsiveAgent {
    /// Stops the process that holds the lock of the store, even a suspended one, and kills it if it does not
    /// stop.
    ///
    /// - Parameters:
    ///   - socket: The socket that does not respond. An agent of another socket is left alone.
    ///   - stateDirectory: The store's directory.
    /// - Returns: `false` if no process is known to be that agent, or it has not ended.
    static func end(socket: String, _ stateDirectory: String) -> Bool {
        guard let lock = StoreLockFile(of: stateDirectory), lock.note?.socket == socket,
            let holder = lock.holder
        else { return false }
        Console.tell("stopping process \(holder), which does not respond")
        kill(holder, SIGTERM)
        kill(holder, SIGCONT)
        if lock.isFreed() { return true }
        kill(holder, SIGKILL)
        return lock.isFreed()
    }
}

extension StoreLockFile {
    /// The maximum wait in nanoseconds, longer than an agent lets a refresh in flight finish.
    private static let timeout: Int64 = 30_000_000_000
    /// The time between two checks of the lock, in microseconds.
    private static let interval: UInt32 = 10_000

    /// Waits until no agent holds the lock.
    ///
    /// - Returns: `false` if one still holds it after 30 seconds.
    func isFreed() -> Bool {
        let end = hardening_boot_clock() + StoreLockFile.timeout
        while isHeld {
            guard hardening_boot_clock() < end else { return false }
            usleep(StoreLockFile.interval)
        }
        return true
    }
}
