// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc

/// A lock that keeps agents from starting on an unused store while it exists.
struct AgentStartBlocker: ~Copyable {
    /// The maximum wait in nanoseconds for a killed agent to end: as long as a slow disk blocks one of its
    /// threads.
    private static let timeout: Int64 = 10_000_000_000
    /// The maximum time in nanoseconds to search for the process that holds the lock.
    private static let lookupTimeout: Int64 = 200_000_000
    /// The time between two checks of the lock, in microseconds.
    private static let interval: UInt32 = 10_000

    /// The store's lock file, held shared, or `nil` if there is none and therefore no store.
    private let lock: StoreLockFile?

    /// Waits for a killed agent, which holds its lock until the kernel has ended all of it.
    ///
    /// - Returns: `nil` if an agent uses the store.
    /// - Throws: ``StartFailure`` if an ending agent has not ended in time.
    init?(_ stateDirectory: String) throws(StartFailure) {
        lock = StoreLockFile(of: stateDirectory)
        let start = hardening_boot_clock()
        while lock?.share() == false {
            let holder = lock?.note?.pid
            let waited = hardening_boot_clock() - start
            switch holder.flatMap(AgentStartBlocker.sleeps) {
            case true?: return nil
            case false? where waited >= AgentStartBlocker.timeout:
                throw StartFailure(
                    .temporarilyUnavailable,
                    "process \(holder ?? 0) is still using \(stateDirectory)",
                    remedy: .retry("after process \(holder ?? 0) has exited")
                )
            // An ending process is visible while it holds the lock. This one is in another namespace, or has
            // left no number.
            case nil where waited >= AgentStartBlocker.lookupTimeout: return nil
            case false?, nil: usleep(AgentStartBlocker.interval)
            }
        }
    }

    /// Returns whether the process is asleep, as an agent is most of the time, or `nil` if there is no such
    /// process.
    ///
    /// A killed process would have been woken.
    private static func sleeps(_ process: Int32) -> Bool? {
        let file = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe read(file, &bytes, bytes.count)
        // The name is in parentheses, and may contain some (proc_pid_stat(5)).
        guard count > 0, let name = bytes[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
        return bytes[(name + 1)..<count].first { $0 != UInt8(ascii: " ") }.map("STtI".utf8.contains)
    }
}
