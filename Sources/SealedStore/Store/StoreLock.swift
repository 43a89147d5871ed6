// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The lock that lets only one agent use a store, held until the last reference goes or the process ends.
final class StoreLock: Sendable {
    static let fileName = "lock"

    private let file: OpenFile

    /// Takes the lock of `directory` without waiting and notes in it who we are.
    init(_ directory: OpenDirectory, socket: String?) throws(StoreError) {
        let path = directory.path(of: StoreLock.fileName)
        do throws(StoreFileError) {
            file = try StoreLock.openFile(in: directory)
        } catch {
            switch error {
            case .untrusted(let reason): throw .unsafe(path: path, reason: reason)
            case .missing, .wrongSize, .system: throw .unavailable(path: path, reason: error.description)
            }
        }
        guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else {
                throw .unavailable(path: path, reason: SystemCallError.latest("flock").reason)
            }
            throw .heldByAnother(path: directory.path, pid: StoreLock.holder(file))
        }
        note(socket: socket, in: directory)
    }

    /// Notes in the file of `directory` that this process holds the lock and answers at `socket`.
    func note(socket: String?, in directory: OpenDirectory) {
        StoreLock.write(LockFileContents(pid: getpid(), socket: socket), in: directory)
    }

    /// Notes who holds the lock, for clients and agents with another environment; a full disk costs only these.
    ///
    /// The lock itself is held by a descriptor for reading, which does not keep the disk from being remounted.
    ///
    /// The file never becomes empty: a disk that is told of freed blocks (the mount option `discard`) would take
    /// milliseconds for it, in every start.
    private static func write(_ note: LockFileContents, in directory: OpenDirectory) {
        guard let file = try? directory.open(fileName, writing: true) else { return }
        let bytes = note.bytes
        try? file.resize(to: bytes.count)
        try? file.write(bytes, at: 0)
    }

    /// Lets another agent in.
    func release() {
        _ = flock(file.descriptor, LOCK_UN)
    }

    private static func openFile(in directory: OpenDirectory) throws(StoreFileError) -> OpenFile {
        do throws(StoreFileError) {
            return try directory.open(fileName)
        } catch {
            guard error == .missing else { throw error }
        }
        return try OpenDirectory.checked { () throws(SystemCallError) in
            // Not O_EXCL: two agents starting at once must meet at one file.
            let opened = try directory.files.open(
                fileName,
                in: directory.descriptor,
                flags: O_RDONLY | O_CREAT
            )
            let file = OpenFile(descriptor: opened, files: directory.files)
            if try file.status().mode != 0o600 { try directory.files.setMode(of: opened, to: 0o600) }
            return file
        }
    }

    private static func holder(_ file: OpenFile) -> Int32? {
        do throws(SystemCallError) {
            return LockFileContents(try file.read(count: LockFileContents.largestCount + 1, at: 0))?.pid
        } catch {
            return nil
        }
    }
}
