// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AgentServer

/// Who has to go when there are too many connections.
struct ConnectionRegisterTests {
    /// A register whose connections are real sockets, with a clock of its own.
    private final class Bench {
        let register: ConnectionRegister
        let clock = SteppedClock(ContinuousClock.now)
        private let connections: ConnectionBench

        init(perProcess: Int, overall: Int) throws {
            var limits = ConnectionRegister.Limits(descriptors: 1_024)
            limits.perProcess = perProcess
            limits.overall = overall
            limits.silentRounds = .max
            register = ConnectionRegister(limits: limits) { [clock] in clock.value }
            connections = try ConnectionBench(register: register)
        }

        var agent: RecordingAgent { connections.agent }

        func turn() { connections.turn() }

        /// A connection of `process`, which asks for a place.
        func connect(
            _ process: pid_t,
            reading: Bool = true
        ) throws -> (peer: ConnectionBench.PeerEnd, isIn: Bool) {
            let peer = try connections.connect(process, reading: reading)
            return (peer, register.admit(peer.connection))
        }
    }

    private static let request = SocketPeer.request("GET", "/v1")

    @Test func `of a process's idle connections the longest unused is closed, not a new one`() throws {
        let bench = try Bench(perProcess: 2, overall: 100)
        let (old, used) = (try bench.connect(7), try bench.connect(7))
        #expect(old.isIn && used.isIn)
        bench.clock.advance(by: .seconds(6))
        let first = try bench.connect(7)
        #expect(first.isIn && old.peer.isAtEnd && !used.peer.isAtEnd)
        let second = try bench.connect(7)
        #expect(second.isIn && used.peer.isAtEnd)
        // All that is left is new: it stays, beyond what the process may keep idle.
        let third = try bench.connect(7)
        #expect(third.isIn)
        for new in [first, second, third] { #expect(!new.peer.isAtEnd) }
    }

    @Test(.holds("11")) func `a request that nobody has read yet keeps its connection`() throws {
        let bench = try Bench(perProcess: 1, overall: 100)
        let asking = try bench.connect(7, reading: false)
        asking.peer.write(Self.request)
        bench.clock.advance(by: .seconds(6))
        let late = try bench.connect(7)
        #expect(asking.isIn && late.isIn)
        #expect(!asking.peer.isAtEnd)
    }

    @Test func `a request after the end is refused at the peer's, not taken and lost`() throws {
        let bench = try Bench(perProcess: 1, overall: 100)
        let idle = try bench.connect(7)
        bench.clock.advance(by: .seconds(6))
        let late = try bench.connect(7)
        #expect(idle.isIn && late.isIn)
        #expect(!idle.peer.write("G"))
    }

    @Test func `a flood gives before a connection of another process that was used`() throws {
        let bench = try Bench(perProcess: 2, overall: 4)
        let used = try bench.connect(7)
        #expect(used.isIn && used.peer.write(Self.request))
        bench.turn()
        let flood = try (0..<3).map { _ in try bench.connect(8) }
        let late = try bench.connect(8)
        #expect(late.isIn && flood[0].peer.isAtEnd && !flood[1].peer.isAtEnd && !flood[2].peer.isAtEnd)
        #expect(used.peer.write(Self.request))
        bench.turn()
        #expect(!late.peer.isAtEnd)
    }

    @Test(.holds("11")) func `where all are new the process that holds the most gives`() throws {
        let bench = try Bench(perProcess: 100, overall: 4)
        let modest = try bench.connect(7)
        let flood = try (0..<3).map { _ in try bench.connect(8) }
        let another = try bench.connect(9)
        #expect(another.isIn && flood[0].peer.isAtEnd)
        for kept in [modest, another] + flood.dropFirst() { #expect(kept.isIn && !kept.peer.isAtEnd) }
    }

    @Test(.holds("11")) func `what a burst left idle is brought down to a process's share`() throws {
        let bench = try Bench(perProcess: 2, overall: 100)
        let peers = try (0..<6).map { _ in try bench.connect(7).peer }
        bench.register.closeUnused()
        #expect(peers.map(\.isAtEnd) == Array(repeating: false, count: 6))
        bench.clock.advance(by: .seconds(6))
        bench.register.closeUnused()
        #expect(peers.map(\.isAtEnd) == [true, true, true, true, false, false])
    }

    @Test(.holds("11")) func `half a request holds no place against others for long`() throws {
        let bench = try Bench(perProcess: 100, overall: 2)
        let flood = try (0..<2).map { _ in try bench.connect(8).peer }
        for peer in flood { peer.write("GET /v1 HTTP/1.1\r\n") }
        bench.turn()
        #expect(flood.map(\.connection.hasPartOfRequest) == [true, true])
        let honest = try bench.connect(9)
        #expect(honest.isIn && flood[0].isAtEnd && !flood[1].isAtEnd)
    }

    @Test func `there is no room where every connection has a request`() throws {
        let bench = try Bench(perProcess: 100, overall: 1)
        bench.agent.answer = nil
        let busy = try bench.connect(7)
        busy.peer.write(Self.request)
        bench.turn()
        #expect(busy.isIn && busy.peer.connection.state == .answering)
        #expect(try !bench.connect(8).isIn)
        #expect(!busy.peer.isAtEnd)
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
