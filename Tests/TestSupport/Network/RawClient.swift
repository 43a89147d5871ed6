// SPDX-License-Identifier: MIT

import Glibc

/// A TCP client that sends the bytes a test provides.
package struct RawClient: ~Copyable {
    private let descriptor: Int32

    /// Connects to a loopback port.
    package init(port: Int) throws(SystemFailure) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = in_addr_t(UInt32(0x7F00_0001).bigEndian)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard result == 0 else { throw SystemFailure("connect") }
    }

    deinit { close(descriptor) }

    /// Sends `text`.
    ///
    /// A connection already closed by the server is not an error.
    package func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Calls `body` with each piece that the server sends, until it closes the connection.
    package func forEachPiece(_ body: ([UInt8]) -> Void) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return }
            body(Array(chunk[..<count]))
        }
    }

    /// Reads until the server closes the connection, or until the input contains `end`.
    package func read(until end: String? = nil) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { break }
            bytes += chunk[..<count]
            if let end, String(decoding: bytes, as: UTF8.self).contains(end) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
