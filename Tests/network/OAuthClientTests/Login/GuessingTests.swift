// SPDX-License-Identifier: MIT

import Glibc
import NIOPosix
import TestSupport
import Testing

@testable import OAuthClient

/// A stranger on this machine who knows the port of a login, and tries its state.
struct GuessingTests {
    /// One request on a connection of its own, given up as soon as its status is known.
    ///
    /// Blocks. The reset leaves no connection behind that would keep its port for a minute.
    private static func status(port: UInt16, _ request: String) -> String? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var reset = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
        guard LocalPort.connect(descriptor, to: port) else { return nil }
        var bytes = Array(request.utf8)
        guard send(descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return nil }
        var answer = [UInt8](repeating: 0, count: 12)
        guard recv(descriptor, &answer, answer.count, Int32(MSG_WAITALL)) == answer.count else { return nil }
        return String(decoding: answer.suffix(3), as: UTF8.self)
    }

    /// A state as long as ours, of the letters ours is made of.
    private static func guess() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        return String(
            decoding: (0..<43).map { _ in alphabet[Int.random(in: alphabet.indices)] },
            as: UTF8.self
        )
    }

    @Test(.holds("90")) func `guesses at the listener are refused, and the login completes`() async throws {
        let waiting = try await WaitingListener()
        let (listener, address) = (waiting.listener, waiting.address)
        let port = UInt16(listener.port)
        let (threads, guesses) = (4, TestEnvironment.isFull ? 1_000_000 : 4_000)
        let pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
        let refused = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<threads {
                group.addTask {
                    try await pool.runIfActive {
                        var refused = 0
                        for _ in 0..<guesses / threads {
                            let target = "/callback?code=evil&state=\(Self.guess())"
                            let request = LoopbackListenerTests.get(target, port: Int(port))
                            refused += Self.status(port: port, request) == "303" ? 1 : 0
                        }
                        return refused
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        try await pool.shutdownGracefully()
        #expect(refused == guesses)
        let page = try await address.redirect("code=good&state=\(address.state)")
        #expect(page.hasPrefix("HTTP/1.1 303 See Other\r\n"))
        #expect(try await listener.response() == .code("good"))
        await listener.close()
        Attachment.record("\(guesses) guesses, \(refused) refused", named: "figure")
    }
}
