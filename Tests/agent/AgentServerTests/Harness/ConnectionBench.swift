// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import Synchronization
import TestSupport

@testable import AgentServer

/// Connections and the peers' ends of their sockets, on an event loop whose turns and clock the test controls.
final class ConnectionBench: @unchecked Sendable {
    // Unchecked: used by one test, which is the loop's thread.
    /// The peer's end of a connection.
    final class PeerEnd {
        let connection: Connection
        private var descriptor: CInt

        fileprivate init(_ connection: Connection, _ descriptor: CInt) {
            self.connection = connection
            self.descriptor = descriptor
        }

        deinit { leave() }

        func leave() {
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }

        var isOpen: Bool { connection.state != .closed }

        /// - Returns: `true` if the kernel accepts it.
        @discardableResult
        func write(_ text: String) -> Bool {
            Array(text.utf8).withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
                    == $0.count
            }
        }

        /// Closes the writing side of the connection.
        func endWriting() { shutdown(descriptor, CInt(SHUT_WR)) }

        /// Returns everything that can be read without waiting, at most the size of the kernel's buffer.
        func read() -> String {
            var text: [UInt8] = []
            while let piece = readPiece(), !piece.isEmpty { text += piece }
            return String(decoding: text, as: UTF8.self)
        }

        /// Whether the other side has closed the connection and everything has been read.
        var isAtEnd: Bool {
            // A program that another test starts at this moment holds a copy of the closed socket until it runs.
            if !isOpen {
                var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&end, 1, 60_000)
            }
            var byte: UInt8 = 0
            return recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) == 0
        }

        /// Reads the next bytes.
        ///
        /// - Returns: the bytes, empty at the end of the stream, or `nil` if nothing can be read yet.
        private func readPiece() -> [UInt8]? {
            var room = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &room, room.count, CInt(MSG_DONTWAIT))
            return count < 0 ? nil : Array(room.prefix(count))
        }
    }

    let agent = RecordingAgent()
    let loop: AgentLoop
    private let register: ConnectionRegister
    private let clock = LoopClock()

    init(register: ConnectionRegister = ConnectionRegister(limits: .init(descriptors: 64))) throws {
        self.register = register
        loop = try AgentLoop { [clock] in clock.now }
    }

    /// Connects as `process`.
    ///
    /// If `reading` is `false`, received bytes stay in the kernel.
    func connect(_ process: pid_t = 1, reading: Bool = true) throws -> PeerEnd {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemFailure("socketpair") }
        let services = ConnectionServices(
            loop: loop,
            agent: agent,
            limits: RequestLimits(),
            register: register
        )
        let caller = Caller(PeerCredentials(processID: process, userID: 1))
        let connection = Connection(caller, services, socket: PeerSocket(ends[0], loop: loop))
        if reading { try connection.begin() }
        return PeerEnd(connection, ends[1])
    }

    /// Performs the pending work of the loop.
    func turn() { loop.turn() }

    func advance(by amount: TimeAmount) {
        clock.advance(by: amount)
        turn()
    }
}

/// The time of a loop, which the test moves.
final class LoopClock: Sendable {
    private let time = Mutex(NIODeadline.uptimeNanoseconds(1))

    var now: NIODeadline { time.withLock(\.self) }

    func advance(by amount: TimeAmount) { time.withLock { $0 = $0 + amount } }
}
