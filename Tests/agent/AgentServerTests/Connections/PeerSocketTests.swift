// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import TestSupport
import Testing

@testable import AgentServer

/// The socket of a connection, and the buffers beside it.
struct PeerSocketTests {
    /// Both ends of a connection.
    private struct Ends: ~Copyable {
        var socket: PeerSocket
        let peer: CInt
        private let loop: AgentLoop

        init() throws {
            var ends: [CInt] = [-1, -1]
            guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
            else {
                throw SystemFailure("socketpair")
            }
            loop = try AgentLoop()
            socket = PeerSocket(ends[0], loop: loop)
            peer = ends[1]
        }

        deinit { close(peer) }

        /// The peer takes what is here, at most `most` bytes.
        func take(_ most: Int) -> Int {
            var room = [UInt8](repeating: 0, count: most)
            return max(0, recv(peer, &room, room.count, CInt(MSG_DONTWAIT)))
        }

        func write(_ text: String) {
            let bytes = Array(text.utf8)
            #expect(send(peer, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
        }
    }

    @Test func `what a peer has taken takes no memory, though some is always left`() throws {
        var ends = try Ends()
        var (sent, taken) = (0, 0)
        while sent < 32 << 20 {
            while ends.socket.unsentCount < 200_000 {
                var answer = ByteBuffer(repeating: UInt8(ascii: "x"), count: 10_000)
                let isTaken = ends.socket.send(&answer)
                #expect(isTaken)
                sent += 10_000
            }
            taken += ends.take(100_000)
            let isOpen = ends.socket.sendUnsent()
            let left = ends.socket.unsentCount
            try #require(isOpen && left > 0)
        }
        #expect(taken > 16 << 20)
        let capacity = ends.socket.unsent.capacity
        #expect(capacity <= 1 << 20)
    }

    @Test(arguments: [4_095, 4_096, 5_000, 8_192, 20_000])
    func `all that was read is wiped from the shared buffer`(length: Int) throws {
        let ends = try Ends()
        let shared = SharedBuffer()
        var input = RequestInput(limits: RequestLimits())
        // One before has made the buffer larger.
        for length in [20_000, length] {
            ends.write(try #require(Self.request(length)))
            while case .bytes = input.read(from: ends.socket, through: shared) { _ = try input.next() }
            input.clear()
            input.settle(shared)
        }
        var buffer = shared.take()
        // The longest request without its head; what lies behind was never written.
        buffer.moveWriterIndex(to: 19_900)
        #expect(buffer.readableBytesView.allSatisfy { $0 == 0 })
    }

    /// A request of `length` bytes.
    private static func request(_ length: Int) -> String? {
        for body in stride(from: length, to: 0, by: -1) {
            let head = "POST /v1 HTTP/1.1\r\nHost: tokenagent\r\nContent-Length: \(body)\r\n\r\n"
            if head.utf8.count + body == length { return head + String(repeating: "s", count: body) }
        }
        return nil
    }
}
