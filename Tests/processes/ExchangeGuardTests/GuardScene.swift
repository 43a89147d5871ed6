// SPDX-License-Identifier: MIT

import CommandExecution
import Glibc
import TestSupport

@testable import ExchangeGuard

/// A running guard.
///
/// The test plays its agent and its server.
final class GuardScene {
    /// The agent's end of the connection, or -1 after ``die()``.
    private(set) var agent: Int32
    /// The server's end.
    let server: Int32
    /// The file of the answer.
    let file: Int32
    private let pid: pid_t
    private let directory: TemporaryDirectory

    /// Starts a guard with a connection and a file.
    ///
    /// The exchange ends after `end`.
    ///
    /// If `isCongested` is `true`, the kernel buffers much data, but little of it arrives until the server reads.
    init(end: Duration = .seconds(20), keepsAnswer: Bool = true, isCongested: Bool = false) throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemFailure("socketpair") }
        pid = try ProgramStart(
            executable: "\(BuiltPrograms.directory)/tokenagent-runner",
            arguments: [ExchangeGuard.name],
            environment: [:],
            descriptors: [ExchangeGuard.agentDescriptor: ends[1]],
            placement: .ownSession
        ).start()
        close(ends[1])
        directory = try TemporaryDirectory()
        file = open("\(directory.path)/answer", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let (client, accepted) = try GuardScene.connect(isCongested)
        server = accepted
        let link = GuardLink(descriptor: ends[0])
        let order = GuardHandoverMessage(end: GuardScene.now + GuardScene.nanoseconds(end))
        guard link.hand(order, connection: client, file: keepsAnswer ? file : nil) else {
            throw SystemFailure("hand over")
        }
        close(client)
        agent = link.take()
    }

    deinit {
        for descriptor in [agent, server, file] where descriptor >= 0 { close(descriptor) }
        kill(pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }

    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }

    /// Both ends of a TCP connection.
    private static func connect(_ isCongested: Bool) throws -> (Int32, Int32) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(listener) }
        if isCongested { setSize(4096, SO_RCVBUF, listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if isCongested { setSize(1 << 20, SO_SNDBUF, client) }
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &size) == 0
                    && Glibc.connect(client, address, size) == 0
            }
        }
        guard result else { throw SystemFailure("connect") }
        return (client, accept(listener, nil, nil))
    }

    private static func setSize(_ size: Int32, _ option: Int32, _ socket: Int32) {
        var size = size
        setsockopt(socket, SOL_SOCKET, option, &size, socklen_t(MemoryLayout<Int32>.size))
    }
}

// MARK: The agent

extension GuardScene {
    func send(_ frame: [UInt8]) {
        _ = Glibc.send(agent, frame, frame.count, Int32(MSG_NOSIGNAL))
    }

    func say(_ text: String) {
        send(GuardFrame.outgoing.head(text.utf8.count) + text.utf8)
    }

    /// Arms the guard with deadlines relative to now.
    func arm(_ sendBefore: Duration, arriveBefore: Duration = .seconds(20), head: String = "HEAD") {
        let now = GuardScene.now
        let arming = GuardArming(
            sendBefore: now + GuardScene.nanoseconds(sendBefore),
            arriveBefore: now + GuardScene.nanoseconds(arriveBefore),
            head: Array(head.utf8)
        )
        send(arming.frame)
    }

    /// Reads the next frame of the guard, or returns `nil` at its end.
    func frame() -> (kind: GuardFrame, text: String)? {
        guard let head = GuardScene.read(agent, exactly: GuardFrame.headCount) else { return nil }
        var count = 0
        guard let kind = GuardFrame(head: head, count: &count),
            let bytes = GuardScene.read(agent, exactly: count)
        else { return nil }
        return (kind, String(decoding: bytes, as: UTF8.self))
    }

    /// Closes the agent's connection, as if the agent had been killed.
    func die() {
        close(agent)
        agent = -1
    }

    func signal(_ number: Int32) {
        kill(pid, number)
    }

    /// Waits until the guard is stopped, and returns `true` if it is.
    func hasStopped() async throws -> Bool {
        try await Polling.until { File.text("/proc/\(self.pid)/stat")?.contains(") T ") == true }
    }

    /// Waits until the guard ends.
    ///
    /// - Returns: 0 if it exited, `SIGKILL` if a signal ended it, or `nil` if it is still running.
    func ending(within limit: Duration = .seconds(20)) async throws -> Int32? {
        try await Polling.value(within: limit) {
            var report = siginfo_t()
            guard waitid(P_PID, id_t(self.pid), &report, WEXITED | WNOHANG | WNOWAIT) == 0 else { return nil }
            switch report.si_code {
            case Int32(CLD_EXITED): return 0
            case Int32(CLD_KILLED): return SIGKILL
            default: return nil
            }
        }
    }

    // MARK: The server

    func answer(_ text: String) {
        _ = Glibc.send(server, text, text.utf8.count, Int32(MSG_NOSIGNAL))
    }

    /// Receives the next bytes at the server.
    ///
    /// - Returns: the bytes, empty if the connection was closed, or `nil` if it was reset.
    func request() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(server, &bytes, bytes.count, 0)
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }

    func endServer() {
        shutdown(server, Int32(SHUT_WR))
    }

    /// Returns `count` bytes of the file at `offset`.
    func kept(_ count: Int, at offset: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(file, &bytes, count, off_t(offset))
        return String(decoding: bytes.prefix(max(got, 0)), as: UTF8.self)
    }

    private static func read(_ descriptor: Int32, exactly count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), count - filled)
            }
            guard got > 0 else { return nil }
            filled += got
        }
        return bytes
    }
}
