// SPDX-License-Identifier: MIT

/// The state directory, verified and locked for this process.
///
/// It holds `lock`, `vault`, `vault.prev`, `manifest`, `keyfile` and `sessions/`. No name says whose sessions
/// they are.
package final class StoreDirectory: Sendable {
    let root: OpenDirectory
    let sessions: OpenDirectory
    private let lock: StoreLock

    /// Opens `path`, creating it with mode 0700, and takes its lock.
    ///
    /// - Parameters:
    ///   - path: absolute.
    ///   - socket: where the agent answers, for another agent that wants to use the store.
    ///   - allowsNetwork: use it even on NFS, SMB and the like, where locks and flushes may lie.
    ///   - files: the system calls everything below goes through.
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

    /// Notes for others where the agent answers from now on.
    func note(socket: String) { lock.note(socket: socket, in: root) }

    /// Lets another agent use the store.
    package func close() {
        lock.release()
    }
}
