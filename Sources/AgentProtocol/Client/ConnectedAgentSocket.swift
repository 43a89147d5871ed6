// SPDX-License-Identifier: MIT

import Glibc

/// A connected Unix stream socket whose server runs as this user.
struct ConnectedAgentSocket: ~Copyable {
    let descriptor: Int32
    let path: String
    /// The process that was listening when this socket connected.
    private(set) var server: Int32 = 0

    /// Connects to `path` and checks which user's process is listening there.
    ///
    /// A full backlog, or a peer that does not read, blocks for `timeout` at most.
    init(path: String, timeout: Duration) throws(ConnectionFailure) {
        self.path = path
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw .system("create a socket", errno: errno) }
        let failure = ConnectedAgentSocket.connect(descriptor, to: path, timeout: timeout)
        if let failure { throw failure }
        server = try ConnectedAgentSocket.server(of: descriptor, path)
    }

    deinit { close(descriptor) }

    private static func connect(
        _ descriptor: Int32,
        to path: String,
        timeout: Duration
    ) -> ConnectionFailure? {
        guard path.utf8.count <= AgentPaths.maximumSocketPathLength else { return .pathTooLong(socket: path) }
        var limit = timeval(timeout)
        let size = socklen_t(MemoryLayout<timeval>.size)
        guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size) == 0 else {
            return .system("set a socket option", errno: errno)
        }
        var address = sockaddr_un(path: path)
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            // A process is listening but does not accept.
            return errno == EAGAIN
                ? .silent(socket: path, limit: timeout) : .unreachable(socket: path, errno: errno)
        }
        return nil
    }

    /// Returns the process that is listening.
    ///
    /// - Throws: ``ConnectionFailure/foreignServer(socket:uid:)`` if it runs as another user: anyone can
    ///   listen in an open directory.
    private static func server(of descriptor: Int32, _ path: String) throws(ConnectionFailure) -> Int32 {
        // struct ucred { pid_t pid; uid_t uid; gid_t gid; } is hidden behind _GNU_SOURCE.
        var credentials: (pid: Int32, uid: UInt32, gid: UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else {
            throw .system("query the socket", errno: errno)
        }
        guard credentials.uid == geteuid() else {
            throw .foreignServer(socket: path, uid: credentials.uid)
        }
        return credentials.pid
    }

    /// Sends all of `bytes`.
    borrowing func send(_ bytes: RawSpan) throws(ConnectionFailure) {
        var sent = 0
        while sent < bytes.byteCount {
            let count = unsafe bytes.extracting(sent...).withUnsafeBytes {
                unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                throw .timedOut
            } else if errno != EINTR {
                throw .closed
            }
        }
    }

    /// Reads available bytes into `decoder`, after waiting for the first one.
    ///
    /// - Returns: `false` at the end of the connection.
    borrowing func receive(
        into decoder: inout ResponseDecoder,
        by deadline: Deadline
    ) throws(ConnectionFailure) -> Bool {
        try waitForBytes(by: deadline)
        return try unsafe withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 1) {
            buffer throws(ConnectionFailure) in
            var count = 0
            repeat {
                count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
            } while count < 0 && errno == EINTR
            guard count >= 0 else { throw .closed }
            unsafe decoder.append(buffer[..<count])
            return count > 0
        }
    }

    private borrowing func waitForBytes(by deadline: Deadline) throws(ConnectionFailure) {
        guard deadline.isSet else { return }
        guard try hasBytes(by: deadline) else { throw .timedOut }
    }

    /// Waits for a byte or the end of the connection.
    ///
    /// - Returns: `false` if neither has arrived by `deadline`.
    borrowing func hasBytes(by deadline: Deadline) throws(ConnectionFailure) -> Bool {
        while true {
            let timeout = deadline.pollTimeout
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            switch unsafe poll(&wanted, 1, timeout) {
            case 1...: return true
            case 0: return false
            default: guard errno == EINTR else { throw .system("wait for the agent", errno: errno) }
            }
        }
    }
}

extension timeval {
    /// Creates a time of at least one microsecond, as zero would mean no limit.
    fileprivate init(_ duration: Duration) {
        let (seconds, attoseconds) = max(duration, .microseconds(1)).components
        self.init(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
    }
}

extension sockaddr_un {
    /// Creates the address of a path that is known to fit.
    package init(path: String) {
        self.init()
        sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    }
}
