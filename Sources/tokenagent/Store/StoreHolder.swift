// SPDX-License-Identifier: MIT

import Glibc
import SealedStore

/// Finds out who uses a store, without disturbing it.
enum StoreHolder {
    static func exists(_ stateDirectory: String) -> Bool {
        guard let file = lock(of: stateDirectory) else { return false }
        defer { close(file) }
        // A shared lock fails as long as an agent holds its exclusive one, and is given back at once.
        return flock(file, LOCK_SH | LOCK_NB) != 0
    }

    /// The agent that uses the store, if it answers at the socket noted in the lock file and says so.
    ///
    /// A note that is missing, old or forged leads to nobody, or to an agent that says something else.
    static func agent(of stateDirectory: String) -> RunningAgent? {
        guard let file = lock(of: stateDirectory) else { return nil }
        defer { close(file) }
        guard let socket = LockNote(contents(of: file))?.socket,
            let agent = try? RunningAgent.find(socket: socket), agent.uses(stateDirectory)
        else { return nil }
        return agent
    }

    private static func lock(of stateDirectory: String) -> Int32? {
        let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let file = unsafe open(stateDirectory + "/lock", flags)
        return file < 0 ? nil : file
    }

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
