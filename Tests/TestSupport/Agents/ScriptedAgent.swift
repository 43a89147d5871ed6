// SPDX-License-Identifier: MIT

import CTesting
import Dispatch
import Glibc
import Synchronization

/// A server on a Unix socket that sends exactly the bytes a test provides, which need not be valid.
package final class ScriptedAgent: Sendable {
    /// A step on one connection.
    ///
    /// The connection is closed after the last step.
    package enum Step: Sendable {
        /// Reads one whole request.
        case read
        /// Sends bytes.
        case send([UInt8])
        /// Reads one whole request and performs the step that the test returns for it.
        indirect case reply(@Sendable (String) -> Step)
        /// Keeps the connection open and silent until the peer closes it.
        case hang
    }

    package let socket: String
    private let directory: TemporaryDirectory
    private let listener: Listener
    private let received = Mutex<[String]>([])

    /// Listens and runs one script per connection, concurrently.
    ///
    /// The last script is used for all further connections.
    package convenience init(_ scripts: [[Step]]) throws {
        try self.init(first: scripts, then: scripts.last)
    }

    /// Listens and calls `respond` with the one request of each connection.
    package convenience init(responding respond: @escaping @Sendable (String) -> Step) throws {
        try self.init(first: [], then: [.reply(respond)])
    }

    private init(first scripts: [[Step]], then last: [Step]?) throws {
        directory = try TemporaryDirectory()
        socket = directory.path("agent.sock")
        let listener = Listener(
            Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        )
        self.listener = listener
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(listener.descriptor, 16) == 0 else {
            throw SystemFailure("listen at \(socket)")
        }
        DispatchQueue(label: "scripted agent").async { [self] in serve(scripts, then: last) }
    }

    /// Listens and runs one script for every connection.
    package convenience init(_ steps: Step...) throws {
        try self.init([steps])
    }

    deinit {
        shutdown(listener.descriptor, Int32(SHUT_RDWR))
    }

    /// The requests so far, each with its head and body as received.
    package var requests: [String] { received.withLock(\.self) }

    /// Runs the scripts, and keeps this object alive until each script was begun once.
    private func serve(_ scripts: [[Step]], then last: [Step]?) {
        for script in scripts {
            let peer = testing_accept(listener.descriptor)
            guard peer >= 0 else { return }
            begin(script, peer)
        }
        guard let last else { return }
        DispatchQueue(label: "scripted agent").async { [listener, weak self] in
            while true {
                let peer = testing_accept(listener.descriptor)
                guard peer >= 0 else { return }
                guard let self else {
                    _ = close(peer)
                    return
                }
                begin(last, peer)
            }
        }
    }

    private func begin(_ script: [Step], _ peer: Int32) {
        DispatchQueue(label: "scripted connection").async { [self] in
            play(script, peer)
            close(peer)
        }
    }

    private func play(_ script: [Step], _ peer: Int32) {
        for step in script {
            switch step {
            case .read:
                guard let request = ScriptedAgent.readRequest(peer) else { return }
                received.withLock { $0.append(request) }
            case .reply(let respond):
                guard let request = ScriptedAgent.readRequest(peer) else { return }
                received.withLock { $0.append(request) }
                play([respond(request)], peer)
            case .send(let bytes):
                _ = bytes.withUnsafeBytes { send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            case .hang:
                while ScriptedAgent.readByte(peer) != nil {}
            }
        }
    }

    private static func readRequest(_ peer: Int32) -> String? {
        var bytes: [UInt8] = []
        while bytes.suffix(4) != [13, 10, 13, 10] {
            guard let byte = readByte(peer) else { return nil }
            bytes.append(byte)
        }
        let head = String(decoding: bytes, as: UTF8.self)
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        for _ in 0..<(length.flatMap { Int($0.dropFirst(16)) } ?? 0) {
            guard let byte = readByte(peer) else { return nil }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func readByte(_ peer: Int32) -> UInt8? {
        var byte: UInt8 = 0
        return recv(peer, &byte, 1, 0) == 1 ? byte : nil
    }
}

/// A file descriptor that stays open until no thread accepts connections on it.
private final class Listener: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}

extension ScriptedAgent.Step {
    /// Returns a step that sends a response with a body of known length.
    package static func answer(
        _ body: String,
        status: Int = 200,
        type: String = "application/json",
        header: String = ""
    ) -> Self {
        let head =
            "HTTP/1.1 \(status) X\r\nContent-Type: \(type)\r\n\(header)Content-Length: \(body.utf8.count)\r\n"
        return .send(Array((head + "\r\n" + body).utf8))
    }

    /// Returns a step that sends the head of a response that ends with the connection, followed by lines.
    package static func lines(_ lines: String...) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"
        return .send(Array((head + lines.map { $0 + "\n" }.joined()).utf8))
    }
}
