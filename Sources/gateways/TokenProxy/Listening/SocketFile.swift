// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// A listening Unix socket that only this user can connect to.
///
/// Unchecked: holds a file descriptor and a path, neither of which changes.
final class SocketFile: @unchecked Sendable {
    private static let remedy = Remedy.set(
        "a listen path in an existing directory that only you can write to"
    )
    private static let otherPath = Remedy.set("another listen path")

    /// The bound and listening socket.
    ///
    /// The server that uses the descriptor closes it.
    let descriptor: CInt
    private let path: String
    private let identity: (device: dev_t, file: ino_t)

    /// Opens a socket at `path`, replacing a socket left by a killed process.
    ///
    /// - Throws: ``AgentError`` if another file is at `path`, if another program listens there, or if other
    ///   users can write to the directory, because they could listen there first.
    init(_ path: String) throws(AgentError) {
        self.path = path
        try SocketFile.checkDirectory(of: path)
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else {
            throw AgentError(.internal, "cannot create a socket: \(systemMessage(errno))")
        }
        do throws(AgentError) {
            identity = try SocketFile.bind(descriptor, to: path)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Removes the file, unless another file has replaced it.
    func remove() {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_dev == identity.device,
            status.st_ino == identity.file
        else { return }
        _ = unsafe unlink(path)
    }

    private static func bind(_ descriptor: CInt, to path: String) throws(AgentError) -> (dev_t, ino_t) {
        // Only this user may connect. The file gets the socket's own mode (unix(7)): a sandboxed process cannot change
        // it afterwards, and the umask belongs to the whole process.
        guard fchmod(descriptor, 0o600) == 0 else { throw refusal(of: path, errno) }
        if unsafe SocketFile.call(Glibc.bind, descriptor, path) != 0 {
            guard errno == EADDRINUSE else { throw refusal(of: path, errno) }
            try removeLeftover(at: path)
            guard unsafe SocketFile.call(Glibc.bind, descriptor, path) == 0 else {
                throw refusal(of: path, errno)
            }
        }
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & 0o177 == 0, listen(descriptor, 256) == 0
        else {
            throw AgentError(.internal, "cannot listen at \(path): \(systemMessage(errno))")
        }
        return (status.st_dev, status.st_ino)
    }

    private static func checkDirectory(of path: String) throws(AgentError) {
        do throws(SocketDirectory.DirectoryError) {
            try SocketDirectory.check(SocketDirectory.parent(of: path), isOpenToOthers: true)
        } catch {
            switch error {
            case .system(_, _, let number): throw refusal(of: path, number)
            case .unsafe(let directory, let reason):
                throw AgentError(
                    .misconfigured,
                    "cannot listen at \(path): \(directory): \(reason)",
                    remedy: SocketFile.remedy
                )
            }
        }
    }

    /// Returns the error for a socket that cannot be created, with a remedy where the user can help.
    private static func refusal(of path: String, _ number: CInt) -> AgentError {
        let remedy: Remedy? =
            switch number {
            case ENOENT, ENOTDIR, EACCES, EPERM, EROFS, ELOOP: SocketFile.remedy
            case EADDRINUSE: SocketFile.otherPath
            default: nil
            }
        let code: FailureCode = remedy == nil ? .internal : .misconfigured
        return AgentError(code, "cannot listen at \(path): \(systemMessage(number))", remedy: remedy)
    }

    /// Removes a socket of this user on which no program listens.
    private static func removeLeftover(at path: String) throws(AgentError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
            status.st_uid == geteuid()
        else {
            throw AgentError(
                .misconfigured,
                "cannot listen at \(path): not a socket of this user",
                remedy: SocketFile.otherPath
            )
        }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else {
            throw AgentError(.internal, "cannot create a socket: \(systemMessage(errno))")
        }
        defer { close(probe) }
        guard unsafe SocketFile.call(Glibc.connect, probe, path) != 0, errno == ECONNREFUSED else {
            throw AgentError(
                .misconfigured,
                "cannot listen at \(path): in use by another program",
                remedy: SocketFile.otherPath
            )
        }
        _ = unsafe unlink(path)
    }

    private static func call(
        _ function: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt,
        _ descriptor: CInt,
        _ path: String
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
