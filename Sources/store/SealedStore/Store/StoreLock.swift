// SPDX-License-Identifier: MIT

import Glibc
import SystemCalls
import Text

/// The lock that lets only one agent use a store, held until the last reference is released or the process
/// ends.
final class StoreLock: Sendable {
    static let fileName = "lock"

    private let file: OpenFile

    /// Takes the lock of `directory` without waiting, and writes this process into it.
    init(_ directory: OpenDirectory, socket: String?) throws(StoreError) {
        let path = directory.path(of: StoreLock.fileName)
        do throws(StoreFileError) {
            file = try StoreLock.openFile(in: directory)
        } catch {
            throw StoreError(error, at: path)
        }
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else {
                throw .unavailable(path: path, reason: SystemCallError.latest("flock").reason)
            }
            throw .heldByAnother(path: directory.path, pid: StoreLock.holder(file))
        }
        note(socket: socket, in: directory)
    }

    /// Writes into the lock file that this process holds the lock and listens at `socket`.
    func note(socket: String?, in directory: OpenDirectory) {
        StoreLock.write(LockFileContents(pid: getpid(), socket: socket), in: directory)
    }

    /// Writes the holder of the lock, for clients and agents with another environment.
    ///
    /// Errors such as a full disk are ignored. The lock itself is held by a descriptor for reading, which
    /// does not prevent the disk from being remounted read-only. The file never becomes empty: with the mount
    /// option `discard`, freeing its block would cost milliseconds at every start.
    private static func write(_ note: LockFileContents, in directory: OpenDirectory) {
        guard let file = try? directory.open(fileName, writing: true) else { return }
        let bytes = note.bytes
        try? file.resize(to: bytes.count)
        try? file.write(bytes, at: 0)
    }

    /// Releases the lock, so that another agent can take it.
    func release() {
        _ = flock(file.descriptor, LOCK_UN)
    }

    private static func openFile(in directory: OpenDirectory) throws(StoreFileError) -> OpenFile {
        do throws(StoreFileError) {
            return try directory.open(fileName)
        } catch {
            guard error == .missing else { throw error }
        }
        // Not O_EXCL: two agents that start at once must open the same file.
        let opened = try directory.files.open(fileName, in: directory.descriptor, flags: O_RDONLY | O_CREAT)
        let file = OpenFile(descriptor: opened, files: directory.files)
        if try file.status().mode != 0o600 { try directory.files.setMode(of: opened, to: 0o600) }
        return file
    }

    private static func holder(_ file: OpenFile) -> Int32? {
        do throws(StoreFileError) {
            return LockFileContents(try file.read(count: LockFileContents.maximumCount + 1, at: 0))?.pid
        } catch {
            return nil
        }
    }
}
