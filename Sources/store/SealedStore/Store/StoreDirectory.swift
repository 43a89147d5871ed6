// SPDX-License-Identifier: MIT

/// The state directory, verified and locked for this process.
///
/// It contains `lock`, `vault`, `vault.prev`, `manifest`, `keyfile`, `registrations` and `sessions/`. No file
/// name reveals whose sessions they are.
package final class StoreDirectory: Sendable {
    let root: OpenDirectory
    let sessions: OpenDirectory
    private let lock: StoreLock

    /// Opens `path`, creating it with mode 0700, and takes its lock.
    ///
    /// - Parameters:
    ///   - path: the absolute path.
    ///   - socket: the path of the agent's socket, for another agent that wants to use the store.
    ///   - allowsNetwork: whether to use it even on NFS, SMB and the like, where locks and flushes may be
    ///     unreliable.
    ///   - files: the system calls for everything below the directory.
    /// - Throws: ``StoreError/heldByAnother(path:pid:)``, ``StoreError/unsafe(path:reason:)``,
    ///   ``StoreError/networkFileSystem(path:)``, ``StoreError/unavailable(path:reason:)``.
    package init(
        _ path: String,
        socket: String? = nil,
        allowsNetwork: Bool = false,
        files: any FileOperations = SystemFileOperations()
    ) throws(StoreError) {
        root = try TrustedPath.openDirectory(path, files: files)
        guard allowsNetwork || !MountTable.isOnNetwork(root) else { throw .networkFileSystem(path: path) }
        lock = try StoreLock(root, socket: socket)
        sessions = try TrustedPath.openDirectory("sessions", in: root)
    }

    package var path: String { root.path }

    /// Writes the path of the agent's socket into the lock file.
    func note(socket: String) { lock.note(socket: socket, in: root) }

    /// Releases the lock, so that another agent can use the store.
    package func close() {
        lock.release()
    }
}
