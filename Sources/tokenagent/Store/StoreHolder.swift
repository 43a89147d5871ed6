// SPDX-License-Identifier: MIT

import Glibc
import SealedStore

/// Finds out who uses a store, without disturbing it.
enum StoreHolder {
    static func exists(_ stateDirectory: String) -> Bool {
        let file = lock(of: stateDirectory)
        guard file >= 0 else { return false }
        defer { close(file) }
        // A shared lock fails as long as an agent holds its exclusive one, and is given back at once.
        return flock(file, LOCK_SH | LOCK_NB) != 0
    }

    /// The agent that uses the store, if it answers at the socket noted in the lock file and says so.
    ///
    /// A note that is missing, old or forged leads to nobody, or to an agent that says something else.
    static func agent(of stateDirectory: String) -> RunningAgent? {
        let file = lock(of: stateDirectory)
        guard file >= 0 else { return nil }
        defer { close(file) }
        guard let socket = note(in: file)?.socket,
            let agent = try? RunningAgent.find(socket: socket), agent.uses(stateDirectory)
        else { return nil }
        return agent
    }

    /// Opens the lock file; less than 0: there is none.
    static func lock(of stateDirectory: String) -> Int32 {
        unsafe open(stateDirectory + "/lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    }

    /// What the agent that holds the lock `file`, or held it last, says of itself.
    static func note(in file: Int32) -> LockNote? { LockNote(contents(of: file)) }

    /// The content of `file` if it is our regular file and closed to others; otherwise nothing.
    private static func contents(of file: Int32) -> [UInt8] {
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0
        else { return [] }
        var bytes = [UInt8](repeating: 0, count: LockNote.largestCount + 1)
        let count = unsafe pread(file, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }
}
