// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import Glibc
import Synchronization

/// A listening Unix stream socket, created here or inherited from the program that started the agent.
package struct ListeningSocket: Sendable {
    /// The identity of the file that a path named at some moment.
    struct Identity: Equatable, Sendable {
        var device: dev_t
        var inode: ino_t
    }

    let descriptor: CInt
    /// The path of the socket, or `nil` if it is inherited, and so neither removed nor monitored by the
    /// agent.
    let path: String?
    let identity: Identity?
    /// The permission bits of the socket's file, which decide who may connect.
    private(set) var mode: mode_t = ListeningSocket.ownMode
    private(set) var group: gid_t?

    /// The mode of a socket for the agent's own user only.
    private static let ownMode: mode_t = 0o600
    /// The maximum number of peers that wait to be accepted.
    ///
    /// For more, connect fails with `EAGAIN`.
    private static let backlog: CInt = 1_024
    package static let maximumPathLength = 107

    /// Returns the directory of the socket `path`.
    package static func directory(of path: String) -> String { SocketDirectory.parent(of: path) }

    /// Creates or checks the directory of the socket `path`.
    ///
    /// It must belong to the agent's user, and be closed to others unless `isOpenToOthers`. A new directory
    /// is open to those users that the socket admits by `mode`.
    ///
    /// - Throws: ``ListenFailure`` if the directory is unsafe or a system call fails.
    package static func prepareDirectory(
        of path: String,
        isOpenToOthers: Bool = false,
        for mode: mode_t? = nil
    ) throws(ListenFailure) {
        let isForOthers = (mode ?? ownMode) & 0o077 != 0
        do throws(SocketDirectory.DirectoryError) {
            try SocketDirectory.prepare(
                directory(of: path),
                isOpenToOthers: isOpenToOthers,
                mode: isForOthers ? 0o711 : 0o700
            )
        } catch {
            throw ListenFailure(error)
        }
    }

    /// Creates everything that a socket at `path` needs except the socket, for a process that may create no
    /// files later.
    ///
    /// - Throws: ``ListenFailure``, also if a live socket or something else is at `path`.
    package static func prepareRestricted(
        _ path: String,
        isOpenToOthers: Bool = true,
        for mode: mode_t? = nil
    ) throws(ListenFailure) {
        try prepareDirectory(of: path, isOpenToOthers: isOpenToOthers, for: mode)
        let lock = try lockFile(lockPath(of: path))
        defer { close(lock) }
        _ = try isStale(path)
    }

    /// Returns the path of the lock file that guards the socket `path`.
    package static func lockPath(of path: String) -> String { path + ".lock" }

    /// Listens at `path`, in a directory of the agent's user.
    ///
    /// The file never permits more than `mode`.
    ///
    /// Without `mode` the socket is for the agent's user only, and its directory must be closed to others.
    /// With a `mode` it is sufficient that no other user can write to the directory.
    ///
    /// A server that is listening there is left alone. The stale file of a killed agent is removed. A lock
    /// file next to the socket makes sure that two agents that start at once do not remove each other's file.
    ///
    /// - Parameters:
    ///   - path: The path, at most 107 bytes.
    ///   - mode: The permission bits of the socket's file, which the umask does not change.
    ///   - group: The group of the socket's file, or `nil` for the process's group.
    /// - Returns: The listening socket.
    /// - Throws: ``ListenFailure``. A file left at the path is stale, and the next bind removes it.
    package static func bind(
        to path: String,
        mode: mode_t? = nil,
        group: gid_t? = nil
    ) throws(ListenFailure) -> ListeningSocket {
        guard path.utf8.count <= maximumPathLength else { throw .pathTooLong(path: path) }
        try prepareDirectory(of: path, isOpenToOthers: mode != nil, for: mode)
        let lock = try lockFile(lockPath(of: path))
        defer { close(lock) }
        try removeStale(path)
        let descriptor = socket(AF_UNIX, streamType, 0)
        guard descriptor >= 0 else { throw .latest("create a socket for", path) }
        tellSenders(of: descriptor)
        do {
            try claim(path, descriptor, mode ?? ownMode, group)
            return ListeningSocket(
                descriptor: descriptor,
                path: path,
                identity: identity(of: path),
                mode: mode ?? ownMode,
                group: group
            )
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Adopts a socket that is already listening, as service managers provide them (sd_listen_fds(3)).
    ///
    /// - Throws: ``ListenFailure`` if the descriptor is not a listening Unix stream socket.
    package static func inherited(_ descriptor: CInt) throws(ListenFailure) -> ListeningSocket {
        guard address(of: descriptor)?.sun_family == sa_family_t(AF_UNIX),
            option(SO_ACCEPTCONN, of: descriptor) == 1,
            option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
        else { throw .notASocket(descriptor: descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        tellSenders(of: descriptor)
        return ListeningSocket(descriptor: descriptor, path: nil, identity: nil)
    }

    /// The path that the socket was bound to, also by another process, or `nil` if it has none or an abstract
    /// name.
    package var boundPath: String? {
        guard let address = Self.address(of: descriptor) else { return nil }
        let bytes = unsafe withUnsafeBytes(of: address.sun_path) { unsafe Array($0.prefix { $0 != 0 }) }
        guard bytes.first == UInt8(ascii: "/") else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Whether the path still leads to this socket.
    var isInPlace: Bool {
        guard let path else { return true }
        return Self.identity(of: path) == identity
    }

    /// Removes the socket's file if it still belongs to this socket.
    func removeFile() {
        guard let path, isInPlace else { return }
        unsafe unlink(path)
    }

    /// Makes the kernel report the writer of each message to connections from now on, in case rules require
    /// it.
    ///
    /// A connection inherits the option when its peer connects (older kernels: when it is accepted). So the
    /// option is set before any peer can connect. Bytes written before a connection has the option have an
    /// unknown writer.
    private static func tellSenders(of descriptor: CInt) {
        _ = hardening_tell_senders(descriptor)
    }

    private static let streamType = CInt(
        SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    )

    private static func claim(
        _ path: String,
        _ descriptor: CInt,
        _ mode: mode_t,
        _ group: gid_t?
    ) throws(ListenFailure) {
        // The file gets the socket's own mode (unix(7)). So its mode is never wider, and no call changes the
        // mode of a path: the seccomp filter blocks such calls.
        guard fchmod(descriptor, mode) == 0 else { throw .latest("protect", path) }
        try bind(descriptor, to: path)
        do {
            try letIn(path, descriptor, group)
        } catch {
            unsafe unlink(path)
            throw error
        }
    }

    /// Binds the socket without the umask, which belongs to the whole process.
    ///
    /// Meanwhile everything else that the agent creates has an explicit mode, for its user only. Of two threads
    /// that bind at once, the second would otherwise take the first one's empty mask for the process's own, and
    /// leave it behind.
    private static func bind(_ descriptor: CInt, to path: String) throws(ListenFailure) {
        let failure: CInt? = umaskLock.withLock { _ in
            let mask = umask(0)
            defer { _ = umask(mask) }
            let bound = unsafe withAddress(of: path) { unsafe Glibc.bind(descriptor, $0, $1) }
            return bound == 0 ? nil : errno
        }
        if let failure { throw .system(operation: "bind", path: path, reason: systemMessage(failure)) }
    }

    private static let umaskLock = Mutex<Void>(())

    /// Admits peers at a socket that is bound to `path`.
    ///
    /// Before that nobody can connect, whatever its mode.
    private static func letIn(_ path: String, _ descriptor: CInt, _ group: gid_t?) throws(ListenFailure) {
        if let group, unsafe lchown(path, .max, group) != 0 {
            throw .latest("set the group of", path)
        }
        guard listen(descriptor, backlog) == 0 else { throw .latest("listen at", path) }
    }

    private static func identity(of path: String) -> Identity? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
        return Identity(device: status.st_dev, inode: status.st_ino)
    }

    /// Returns whether `path` is a socket on which nobody is listening, by connecting to it.
    ///
    /// - Throws: ``ListenFailure`` if something else is there, or a process is listening.
    private static func isStale(_ path: String) throws(ListenFailure) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .occupied(path: path) }
        let probe = socket(AF_UNIX, streamType, 0)
        guard probe >= 0 else { throw .latest("create a socket for", path) }
        defer { close(probe) }
        let connected = unsafe withAddress(of: path) { unsafe connect(probe, $0, $1) }
        guard connected != 0, errno == ECONNREFUSED || errno == ENOENT else {
            throw .alreadyRunning(path: path)
        }
        return true
    }

    private static func removeStale(_ path: String) throws(ListenFailure) {
        guard try isStale(path) else { return }
        guard unsafe unlink(path) == 0 || errno == ENOENT else {
            throw .latest("remove", path)
        }
    }

    /// Takes the lock that guards sockets.
    ///
    /// Closing the descriptor releases it.
    private static func lockFile(_ path: String) throws(ListenFailure) -> CInt {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .latest("open", path) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else {
                close(descriptor)
                throw .latest("lock", path)
            }
        }
        return descriptor
    }

    private static func address(of descriptor: CInt) -> sockaddr_un? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) {
                unsafe getsockname(descriptor, $0.baseAddress, &length)
            }
        }
        return result == 0 ? address : nil
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt {
        var value: CInt = -1
        var size = socklen_t(MemoryLayout<CInt>.size)
        return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : -1
    }

    private static func withAddress(
        of path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            for (index, byte) in path.utf8.enumerated() where index < bytes.count - 1 {
                unsafe bytes[index] = byte
            }
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
