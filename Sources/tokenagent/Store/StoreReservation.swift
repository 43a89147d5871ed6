// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc

/// Keeps agents from starting on a store that none uses, for as long as this is there.
struct StoreReservation: ~Copyable {
    /// How long to wait for the end of an agent that was killed: as long as a slow disk keeps one of its threads.
    private static let patience: Int64 = 10_000_000_000
    /// How long to look for whoever holds the lock.
    private static let lookupTimeout: Int64 = 200_000_000
    /// Microseconds between two looks at the lock.
    private static let interval: UInt32 = 10_000

    /// The store's lock file, held shared; `nil` if there is none, and with that no store.
    private let lock: StoreLockFile?

    /// Waits for an agent that was killed: it holds its lock until the kernel has ended all of it.
    ///
    /// - Returns: `nil` if an agent uses the store.
    /// - Throws: ``StartFailure`` if one that ends has not ended in time.
    init?(_ stateDirectory: String) throws(StartFailure) {
        lock = StoreLockFile(of: stateDirectory)
        let start = hardening_boot_clock()
        while lock?.share() == false {
            let holder = lock?.note?.pid
            let waited = hardening_boot_clock() - start
            switch holder.flatMap(StoreReservation.sleeps) {
            case true?: return nil
            case false? where waited >= StoreReservation.patience:
                throw StartFailure(
                    .temporarilyUnavailable,
                    "process \(holder ?? 0) holds \(stateDirectory)/lock and has not ended; try again when it has"
                )
            // One that ends is seen for as long as it has the lock. This one is in another namespace, or left no note.
            case nil where waited >= StoreReservation.lookupTimeout: return nil
            case false?, nil: usleep(StoreReservation.interval)
            }
        }
    }

    /// Whether the process sleeps, as an agent does most of the time: being killed would have woken it; `nil`: there is none.
    private static func sleeps(_ process: Int32) -> Bool? {
        let file = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe read(file, &bytes, bytes.count)
        // The name stands in brackets, and may hold some itself (proc_pid_stat(5)).
        guard count > 0, let name = bytes[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
        return bytes[(name + 1)..<count].first { $0 != UInt8(ascii: " ") }.map("STtI".utf8.contains)
    }
}
