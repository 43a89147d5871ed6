// SPDX-License-Identifier: MIT

import Glibc
import NIOPosix
import TestSupport

/// A client that speaks to the agent byte by byte, as any program might.
///
/// Its calls block, so they run on their own threads, because there are only a few threads for tests.
final class SocketPeer: Sendable {
    struct Answer: Equatable, Sendable {
        var status: Int
        var head: String
        var body: String
    }

    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 64)
        pool.start()
        return pool
    }()

    private let descriptor: CInt

    /// Connects.
    ///
    /// If the socket's queue is full, waits, or throws if `waiting` is `false`.
    init(_ path: String, waiting: Bool = true) throws {
        let flags = waiting ? 0 : SOCK_NONBLOCK.rawValue
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | flags), 0)
        guard descriptor >= 0 else { throw SystemFailure("socket") }
        // The limit is long, because the agent may wait for a test that other tests delay.
        var limit = timeval(tv_sec: 500, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // All properties are set, so `deinit` closes the descriptor even if this throws.
        guard connected == 0 else { throw SystemFailure("connect \(path)") }
    }

    deinit {
        Glibc.close(descriptor)
    }

    /// Ends the connection in both directions, as when the process is gone.
    func leave() {
        shutdown(descriptor, CInt(SHUT_RDWR))
    }

    /// Lets ``send(_:)`` fail instead of wait.
    func setNonBlocking() {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// Closes the writing side of the connection.
    func endSending() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw SystemFailure("send") }
            rest = rest.dropFirst(count)
        }
    }

    /// One request and its answer.
    func exchange(
        _ method: String,
        _ target: String,
        body: String? = nil,
        fields: String = ""
    ) async throws -> Answer {
        try send(SocketPeer.request(method, target, body: body, fields: fields))
        return try await answer()
    }

    static func request(
        _ method: String,
        _ target: String,
        body: String? = nil,
        fields: String = ""
    ) -> String {
        let length = body.map { "Content-Length: \($0.utf8.count)\r\n" } ?? ""
        return "\(method) \(target) HTTP/1.1\r\nHost: tokenagent\r\n\(fields)\(length)\r\n\(body ?? "")"
    }

    /// Reads one answer that has an end.
    func answer() async throws -> Answer {
        try await onThread { [self] in
            let head = try line(endingIn: "\r\n\r\n")
            var length = 0
            for field in head.split(separator: "\r\n") where field.lowercased().hasPrefix("content-length:") {
                length = Int(field.split(separator: ":")[1].filter { $0 != " " }) ?? 0
            }
            let status = Int(head.split(separator: " ")[1]) ?? 0
            guard head.contains("\r\nTransfer-Encoding: chunked\r\n") else {
                return Answer(status: status, head: head, body: try bytes(length))
            }
            var body = ""
            while case let chunk = try readChunk(), chunk != "" { body += chunk }
            return Answer(status: status, head: head, body: body)
        }
    }

    /// Reads the head of an endless answer.
    func streamHead() async throws -> String {
        try await onThread { [self] in try line(endingIn: "\r\n\r\n") }
    }

    /// Reads one chunk of an endless answer; empty at its end.
    func chunk() async throws -> String {
        try await onThread { [self] in try readChunk() }
    }

    private func readChunk() throws -> String {
        let size = try line(endingIn: "\r\n")
        let text = try bytes(Int(size.dropLast(1), radix: 16) ?? 0)
        _ = try bytes(2)
        return text
    }

    /// Reads until the agent closes.
    func rest() async throws -> String {
        try await onThread { [self] in
            var all: [UInt8] = []
            while let byte = try next() { all.append(byte) }
            return String(decoding: all, as: UTF8.self)
        }
    }

    /// Reads until the agent closes the connection, and returns the text, or `nil` if the connection is reset.
    func wholeRest() async throws -> String? {
        try await onThread { [self] in
            var all: [UInt8] = []
            while true {
                var byte: UInt8 = 0
                let count = recv(descriptor, &byte, 1, 0)
                if count == 0 { return String(decoding: all, as: UTF8.self) }
                guard count > 0 else {
                    if errno == ECONNRESET { return nil }
                    throw SystemFailure("recv")
                }
                all.append(byte)
            }
        }
    }

    /// Returns `true` if `count` bytes have arrived that are not read yet.
    func hasUnread(_ count: Int) -> Bool {
        var bytes = [UInt8](repeating: 0, count: count)
        return recv(descriptor, &bytes, count, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) == count
    }

    /// Reads in small pieces, after `begins`, up to the piece that holds `last`.
    func slowly(until last: String, begins: @escaping @Sendable () -> Bool) async throws -> [UInt8] {
        _ = try await Polling.until { begins() }
        return try await onThread { [self] in
            var all: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 3_000)
            repeat {
                let count = recv(descriptor, &piece, piece.count, 0)
                guard count > 0 else { throw SystemFailure("recv") }
                all += piece[..<count]
            } while all.firstIndex(of: last, from: max(0, all.count - 6_000)) == nil
            return all
        }
    }

    private func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await SocketPeer.threads.runIfActive { try body() }
    }

    private func line(endingIn end: String) throws -> String {
        var line: [UInt8] = []
        while !line.suffix(end.utf8.count).elementsEqual(end.utf8) {
            guard let byte = try next() else {
                throw SystemFailure("end of stream after \(String(decoding: line, as: UTF8.self))", code: 0)
            }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    private func bytes(_ count: Int) throws -> String {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let byte = try next() else { throw SystemFailure("end of stream", code: 0) }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func next() throws -> UInt8? {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        guard count >= 0 else {
            if errno == ECONNRESET { return nil }
            throw SystemFailure("recv")
        }
        return count == 0 ? nil : byte
    }
}
