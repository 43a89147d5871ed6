// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import AgentServer

/// Who has to go when there are too many connections.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionRegisterTests {
    /// A register whose connections are real sockets, on a loop and with a clock of their own.
    private final class Bench: @unchecked Sendable {
        // Unchecked: used on the loop, or while nothing runs there.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let agent = RecordingAgent()
        let register: ConnectionRegister

        init(perProcess: Int, overall: Int) {
            var limits = ConnectionRegister.Limits(descriptors: 1_024)
            limits.perProcess = perProcess
            limits.overall = overall
            limits.silentRounds = .max
            let clock = SteppedClock(ContinuousClock.now)
            register = ConnectionRegister(limits: limits) { clock.value }
            self.clock = clock
        }

        let clock: SteppedClock

        /// A connection of `process`, and the peer's end of it.
        func connect(
            _ process: pid_t,
            reading: Bool = true
        ) async throws -> (connection: Connection, peer: CInt) {
            var ends: [CInt] = [-1, -1]
            guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0
            else {
                throw SystemFailure("socketpair")
            }
            let services = ConnectionServices(agent: agent, limits: RequestLimits(), register: register)
            let connection = Connection(Caller(Peer(processID: process, userID: 1)), services)
            _ = try await ClientBootstrap(group: loop)
                .channelOption(.autoRead, value: reading)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(connection)
                    }
                }
                .withConnectedSocket(ends[0]).get()
            return (connection, ends[1])
        }

        func admit(_ connection: Connection) async throws -> Bool {
            try await loop.submit { [self] in register.admit(connection) }.get()
        }

        /// Whether the agent closes the connection whose other end this is.
        ///
        /// It has done so; but a program that another test starts in this moment holds a copy until it runs.
        func closes(_ peer: CInt) async throws -> Bool {
            try await Polling.until { try await self.isClosed(peer) }
        }

        /// Whether the agent has closed the connection whose other end this is.
        func isClosed(_ peer: CInt) async throws -> Bool {
            // What was closed on the loop is closed by now.
            try await loop.submit {}.get()
            var byte: UInt8 = 0
            let count = recv(peer, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
            return count == 0
        }
    }

    private static func send(_ text: String, to peer: CInt) {
        _ = Array(text.utf8).withUnsafeBytes {
            Glibc.send(peer, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
    }

    private static let request = SocketPeer.request("GET", "/v1")

    @Test func `of a process's idle connections the longest unused is closed, not a new one`() async throws {
        let bench = Bench(perProcess: 2, overall: 100)
        let (old, oldPeer) = try await bench.connect(7)
        let (used, usedPeer) = try await bench.connect(7)
        #expect(try await bench.admit(old))
        #expect(try await bench.admit(used))
        bench.clock.advance(by: .seconds(6))
        let (first, firstPeer) = try await bench.connect(7)
        #expect(try await bench.admit(first))
        #expect(try await bench.closes(oldPeer))
        let (second, secondPeer) = try await bench.connect(7)
        #expect(try await bench.admit(second))
        #expect(try await bench.closes(usedPeer))
        // All that is left is new: it stays, beyond what the process may keep idle.
        let (third, thirdPeer) = try await bench.connect(7)
        #expect(try await bench.admit(third))
        for peer in [firstPeer, secondPeer, thirdPeer] { #expect(try await !bench.isClosed(peer)) }
        for peer in [oldPeer, usedPeer, firstPeer, secondPeer, thirdPeer] { close(peer) }
    }

    @Test func `a request that nobody has read yet keeps its connection`() async throws {
        let bench = Bench(perProcess: 1, overall: 100)
        let (asking, askingPeer) = try await bench.connect(7, reading: false)
        #expect(try await bench.admit(asking))
        Self.send(Self.request, to: askingPeer)
        bench.clock.advance(by: .seconds(6))
        let (late, latePeer) = try await bench.connect(7)
        #expect(try await bench.admit(late))
        #expect(try await !bench.isClosed(askingPeer))
        for peer in [askingPeer, latePeer] { close(peer) }
    }

    @Test func `a request after the end is refused at the peer's, not taken and lost`() async throws {
        let bench = Bench(perProcess: 1, overall: 100)
        let (idle, idlePeer) = try await bench.connect(7)
        #expect(try await bench.admit(idle))
        bench.clock.advance(by: .seconds(6))
        let (late, latePeer) = try await bench.connect(7)
        #expect(try await bench.admit(late))
        #expect(Glibc.send(idlePeer, "G", 1, CInt(MSG_NOSIGNAL)) == -1)
        for peer in [idlePeer, latePeer] { close(peer) }
    }

    @Test func `where all are new the process that holds the most gives`() async throws {
        let bench = Bench(perProcess: 100, overall: 4)
        var flood: [CInt] = []
        let (modest, modestPeer) = try await bench.connect(7)
        #expect(try await bench.admit(modest))
        for _ in 0..<3 {
            let (connection, peer) = try await bench.connect(8)
            #expect(try await bench.admit(connection))
            flood.append(peer)
        }
        let (another, anotherPeer) = try await bench.connect(9)
        #expect(try await bench.admit(another))
        #expect(try await bench.closes(flood[0]))
        for peer in [modestPeer, anotherPeer] + flood.dropFirst() { #expect(try await !bench.isClosed(peer)) }
        for peer in [modestPeer, anotherPeer] + flood { close(peer) }
    }

    @Test func `what a burst left idle is brought down to a process's share`() async throws {
        let bench = Bench(perProcess: 2, overall: 100)
        var peers: [CInt] = []
        for _ in 0..<6 {
            let (connection, peer) = try await bench.connect(7)
            #expect(try await bench.admit(connection))
            peers.append(peer)
        }
        try await bench.loop.submit { bench.register.closeUnused() }.get()
        for peer in peers { #expect(try await !bench.isClosed(peer)) }
        bench.clock.advance(by: .seconds(6))
        try await bench.loop.submit { bench.register.closeUnused() }.get()
        for peer in peers.dropLast(2) { #expect(try await bench.closes(peer)) }
        for peer in peers.suffix(2) { #expect(try await !bench.isClosed(peer)) }
        for peer in peers { close(peer) }
    }

    @Test func `half a request holds no place against others for long`() async throws {
        let bench = Bench(perProcess: 100, overall: 2)
        var flood: [(Connection, CInt)] = []
        for _ in 0..<2 {
            let (connection, peer) = try await bench.connect(8)
            #expect(try await bench.admit(connection))
            Self.send("GET /v1 HTTP/1.1\r\n", to: peer)
            flood.append((connection, peer))
        }
        let connections = flood.map(\.0)
        #expect(
            try await Polling.until {
                try await bench.loop.submit { connections.allSatisfy(\.hasPartOfRequest) }.get()
            }
        )
        let (honest, honestPeer) = try await bench.connect(9)
        #expect(try await bench.admit(honest))
        #expect(try await bench.closes(flood[0].1))
        for peer in [honestPeer] + flood.map(\.1) { close(peer) }
    }

    @Test func `there is no room where every connection has a request`() async throws {
        let bench = Bench(perProcess: 100, overall: 1)
        bench.agent.answer = nil
        let (busy, busyPeer) = try await bench.connect(7)
        #expect(try await bench.admit(busy))
        Self.send(Self.request, to: busyPeer)
        #expect(try await Polling.until { try await bench.loop.submit { busy.state == .answering }.get() })
        let (refused, refusedPeer) = try await bench.connect(8)
        #expect(try await bench.admit(refused) == false)
        #expect(try await !bench.isClosed(busyPeer))
        for peer in [busyPeer, refusedPeer] { close(peer) }
    }
}

/// A clock the test moves, read from any thread.
final class SteppedClock: Sendable {
    private let time: Mutex<ContinuousClock.Instant>

    init(_ start: ContinuousClock.Instant) {
        time = Mutex(start)
    }

    var value: ContinuousClock.Instant { time.withLock(\.self) }

    func advance(by duration: Duration) {
        time.withLock { $0 = $0.advanced(by: duration) }
    }
}
