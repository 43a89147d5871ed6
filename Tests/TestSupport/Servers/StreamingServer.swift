// SPDX-License-Identifier: MIT

import CTesting
import Glibc
import Synchronization
import Text
import Threads

/// A TCP server on this machine that sends the responses a test provides, piece by piece, which need not be
/// valid.
package final class StreamingServer: Sendable {
    /// A request as received.
    package struct Request: Sendable {
        package var method: String
        package var target: String
        /// The fields, with names in lower case.
        package var fields: [(name: String, value: String)]
        package var body: String
        /// The time at which the whole request had arrived.
        package let at = ContinuousClock.now

        package func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

        package var json: JSONObject? { (try? JSONValue(parsing: body.utf8))?.object }

        /// The token in `Authorization`, with any scheme.
        package var token: String? {
            field("authorization").flatMap { $0.split(separator: " ").last.map(String.init) }
        }
    }

    /// The connection of a request.
    ///
    /// After it is closed nothing is sent, because its descriptor may belong to another file.
    package final class Peer: Sendable {
        /// The socket, which the connection's thread closes.
        ///
        /// Other threads must first check that it is open.
        fileprivate let descriptor: Int32
        private let isOpen = Mutex(true)

        fileprivate init(descriptor: Int32) {
            self.descriptor = descriptor
        }

        fileprivate func close(_ close: (Int32) -> Void) {
            isOpen.withLock { isOpen in
                isOpen = false
                close(descriptor)
            }
        }

        /// Sends bytes unchanged.
        package func send(_ bytes: some Collection<UInt8>) {
            let bytes = Array(bytes)
            isOpen.withLock { if $0 { send(bytes[...]) } }
        }

        private func send(_ bytes: ArraySlice<UInt8>) {
            var rest = bytes
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        /// Sends a whole response.
        package func answer(
            _ status: Int,
            _ body: String = "",
            type: String = "application/json",
            fields: [String] = []
        ) {
            let head = [
                "HTTP/1.1 \(status) X", "Content-Type: \(type)", "Content-Length: \(body.utf8.count)",
            ]
            send(((head + fields).joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
        }

        /// Sends the head of a stream of events.
        package func beginStream(_ fields: [String] = []) {
            let head = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
            send(((head + fields).joined(separator: "\r\n") + "\r\n\r\n").utf8)
        }

        /// Sends a piece of a stream.
        package func piece(_ text: String) {
            send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n".utf8)
        }

        /// Sends an event.
        package func event(_ data: String, id: String? = nil, retry: Int? = nil) {
            let id = id.map { "id: \($0)\n" } ?? ""
            let retry = retry.map { "retry: \($0)\n" } ?? ""
            piece("\(id)\(retry)event: message\ndata: \(data)\n\n")
        }

        /// Ends a stream in HTTP.
        ///
        /// The connection stays open.
        package func endStream() {
            send("0\r\n\r\n".utf8)
        }

        /// Shuts down the connection.
        package func leave() {
            isOpen.withLock { if $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
        }

        /// Waits until the client has closed the connection.
        package func waitUntilLeft() {
            while readByte() != nil {}
        }

        fileprivate func readByte() -> UInt8? {
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, 0) == 1 ? byte : nil
        }
    }

    package let port: Int
    private let listener = OpenSockets()
    private let received = Mutex<[Request]>([])
    private let open = OpenSockets()
    private let respond: @Sendable (Request, Peer) -> Void

    /// Listens, and calls `respond` for each request.
    ///
    /// Requests on one connection are answered one after the other.
    package init(_ respond: @escaping @Sendable (Request, Peer) -> Void) throws {
        self.respond = respond
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        listener.add(descriptor)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 256) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard result else { throw SystemFailure("listen on a port") }
        port = Int(UInt16(bigEndian: address.sin_port))
        try SystemThread { [weak self, listener] in
            while true {
                let peer = testing_accept(descriptor)
                guard peer >= 0 else { break }
                // When the server is released, the listener ends too, but only after its last use here.
                guard let server = self else {
                    close(peer)
                    continue
                }
                server.serve(Peer(descriptor: peer))
            }
            listener.close(descriptor)
        }.detach()
    }

    deinit {
        listener.shutDown()
        open.shutDown()
    }

    /// The requests so far.
    package var requests: [Request] { received.withLock(\.self) }

    /// The number of open connections.
    package var connections: Int { open.count }

    /// Answers the requests of a connection on its own thread, so that a blocking response delays no other
    /// connection.
    private func serve(_ peer: Peer) {
        open.add(peer.descriptor)
        let thread = try? SystemThread { [weak self, open] in
            // Waiting for a request must not keep the server alive.
            while let request = StreamingServer.request(peer), let server = self {
                server.received.withLock { $0.append(request) }
                server.respond(request, peer)
            }
            peer.close(open.close)
        }
        guard let thread else { preconditionFailure("there is no thread for a connection") }
        thread.detach()
    }

    private static func request(_ peer: Peer) -> Request? {
        var bytes: [UInt8] = []
        while bytes.suffix(4) != [13, 10, 13, 10] {
            guard let byte = peer.readByte() else { return nil }
            bytes.append(byte)
        }
        var lines = String(decoding: bytes.dropLast(4), as: UTF8.self).split(separator: "\r\n")[...]
        let words = lines.popFirst()?.split(separator: " ").map(String.init) ?? []
        guard words.count == 3 else { return nil }
        let fields = lines.map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (name: parts[0].lowercased(), value: String(parts.last?.drop { $0 == " " } ?? ""))
        }
        let length = fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        guard let body = content(of: peer, length) else { return nil }
        return Request(
            method: words[0],
            target: words[1],
            fields: fields,
            body: String(decoding: body, as: UTF8.self)
        )
    }

    private static func content(of peer: Peer, _ length: Int) -> [UInt8]? {
        var body = [UInt8](repeating: 0, count: length)
        var filled = 0
        while filled < length {
            let count = body.withUnsafeMutableBytes {
                recv(peer.descriptor, $0.baseAddress?.advanced(by: filled), length - filled, 0)
            }
            guard count > 0 else { return nil }
            filled += count
        }
        return body
    }
}

/// A set of open sockets.
///
/// No socket is used after it was closed, because its number may belong to another file.
private final class OpenSockets: Sendable {
    private let descriptors = Mutex<Set<Int32>>([])

    var count: Int { descriptors.withLock(\.count) }

    func add(_ descriptor: Int32) {
        descriptors.withLock { _ = $0.insert(descriptor) }
    }

    func close(_ descriptor: Int32) {
        descriptors.withLock { descriptors in
            descriptors.remove(descriptor)
            _ = Glibc.close(descriptor)
        }
    }

    /// Shuts down all open sockets, which wakes the threads that wait on them.
    func shutDown() {
        descriptors.withLock { descriptors in
            for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }
}
