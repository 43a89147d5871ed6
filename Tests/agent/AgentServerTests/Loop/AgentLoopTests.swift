// SPDX-License-Identifier: MIT

import Glibc
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import AgentServer

/// The agent's event loop, run by the test or on its own thread.
@Suite(.timeLimit(.minutes(10)))
struct AgentLoopTests {
    /// The events so far, in order.
    private final class Record: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock(\.self) }

        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    /// Records the events for which its descriptor was ready.
    private final class Watcher: ReadinessHandling, @unchecked Sendable {
        // Unchecked: used by the loop, and by the test while that does not run.
        private(set) var seen: [Readiness] = []
        private(set) var hasEnded = false
        var then: () -> Void = {}

        func ready(_ readiness: Readiness) {
            seen.append(readiness)
            then()
        }

        func loopEnded() { hasEnded = true }
    }

    private actor Counter {
        nonisolated let executor: any SerialExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        private var count = 0

        init(_ loop: AgentLoop) { executor = loop.executor }

        func increment() -> Int {
            count += 1
            return count
        }

        nonisolated func incrementAtOnce() -> Int { assumeIsolated { $0.increment() } }
    }

    @Test func `timers run when they are due, soonest first`() throws {
        let (clock, record) = (LoopClock(), Record())
        let loop = try AgentLoop { clock.now }
        for seconds in [3, 1, 2] as [Int64] {
            loop.scheduleTask(in: .seconds(seconds)) { record.add("\(seconds)") }
        }
        loop.turn()
        #expect(record.all == [])
        clock.advance(by: .seconds(2))
        loop.turn()
        #expect(record.all == ["1", "2"])
        clock.advance(by: .seconds(1))
        loop.turn()
        #expect(record.all == ["1", "2", "3"])
    }

    @Test func `a timer that is cancelled does not run, and says so`() throws {
        let (clock, record) = (LoopClock(), Record())
        let loop = try AgentLoop { clock.now }
        let timer = loop.scheduleTask(in: .seconds(1)) { record.add("run") }
        timer.futureResult.whenFailure { record.add("\($0)") }
        timer.cancel()
        clock.advance(by: .seconds(1))
        loop.turn()
        #expect(record.all == ["\(EventLoopError.cancelled)"])
    }

    @Test func `a timer that throws fails its future`() throws {
        let (clock, record) = (LoopClock(), Record())
        let loop = try AgentLoop { clock.now }
        let timer = loop.scheduleTask(in: .zero) { () throws -> Void in throw PollFailure(code: EMFILE) }
        timer.futureResult.whenFailure { record.add("\($0)") }
        loop.turn()
        #expect(record.all == ["cannot watch file descriptors: Too many open files"])
    }

    @Test func `jobs run in their order, and what they add runs in the next turn`() throws {
        let record = Record()
        let loop = try AgentLoop()
        loop.execute {
            record.add("first")
            loop.execute { record.add("third") }
        }
        loop.execute { record.add("second") }
        loop.turn()
        #expect(record.all == ["first", "second"])
        loop.turn()
        #expect(record.all == ["first", "second", "third"])
    }

    @Test func `a descriptor is reported as long as it is ready, and not once it is forgotten`() throws {
        let loop = try AgentLoop()
        let (pipe, watcher) = (try Pipe(), Watcher())
        let watch = try loop.watch(pipe.reader, for: .readable, watcher)
        loop.turn()
        #expect(watcher.seen.isEmpty)
        pipe.write()
        for _ in 0..<2 { loop.turn() }
        #expect(watcher.seen == [.readable, .readable])
        loop.change(watch, of: pipe.reader, to: [])
        loop.turn()
        #expect(watcher.seen.count == 2)
        loop.change(watch, of: pipe.reader, to: .readable)
        loop.forget(watch)
        loop.turn()
        #expect(watcher.seen.count == 2)
    }

    @Test func `who is forgotten by another in the same turn is told nothing`() throws {
        let loop = try AgentLoop()
        let pipes = [try Pipe(), try Pipe()]
        let watchers = [Watcher(), Watcher()]
        let watches = try zip(pipes, watchers).map { try loop.watch($0.reader, for: .readable, $1) }
        for index in 0..<2 {
            watchers[index].then = { loop.forget(watches[1 - index]) }
            pipes[index].write()
        }
        loop.turn()
        #expect(watchers.map(\.seen.count).reduce(0, +) == 1)
    }

    @Test func `a report for an earlier watch is not taken for a later one's`() throws {
        let loop = try AgentLoop()
        let pipes = [try Pipe(), try Pipe()]
        let (first, later) = (Watcher(), Watcher())
        let watch = try loop.watch(pipes[0].reader, for: .readable, first)
        loop.forget(watch)
        // It takes the place that has become free; the kernel still watches for the earlier one.
        _ = try loop.watch(pipes[1].reader, for: .readable, later)
        pipes[0].write()
        loop.turn()
        #expect(first.seen.isEmpty && later.seen.isEmpty)
    }

    @Test func `what another process has too is not reported any more`() throws {
        let poller = try Poller()
        let pipe = try Pipe()
        try poller.add(pipe.reader, for: .readable, key: 1)
        let other = dup(pipe.reader)
        defer { close(other) }
        pipe.write()
        #expect(poller.wait(milliseconds: 0) == 1)
        poller.remove(pipe.reader)
        #expect(poller.wait(milliseconds: 0) == 0)
    }

    @Test func `a descriptor that cannot be watched is an error`() throws {
        let loop = try AgentLoop()
        #expect(throws: PollFailure(code: EBADF)) { try loop.watch(-1, for: .readable, Watcher()) }
    }

    @Test func `other threads are served, and an actor lives on the loop`() async throws {
        let loop = try AgentLoop.start()
        #expect(!loop.inEventLoop)
        #expect(try await loop.submit { loop.inEventLoop }.get())
        let counter = Counter(loop)
        #expect(await counter.increment() == 1)
        #expect(try await loop.submit { counter.incrementAtOnce() }.get() == 2)
        let timer = loop.scheduleTask(in: .milliseconds(1)) { loop.inEventLoop }
        #expect(try await timer.futureResult.get())
        await loop.stop()
    }

    @Test func `jobs of many threads are all done`() async throws {
        let loop = try AgentLoop.start()
        let counter = Counter(loop)
        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask { for _ in 0..<100 { _ = await counter.increment() } }
            }
        }
        #expect(await counter.increment() == 10_001)
        await loop.stop()
    }

    @Test func `the end gives up timers and watches, after the jobs that are there`() async throws {
        let loop = try AgentLoop.start()
        let (pipe, watcher, record) = (try Pipe(), Watcher(), Record())
        loop.scheduleTask(in: .hours(1)) {}.futureResult.whenFailure { record.add("\($0)") }
        _ = try await loop.submit { try loop.watch(pipe.reader, for: .readable, watcher) }.get()
        loop.execute { loop.execute { record.add("job") } }
        await loop.stop()
        #expect(watcher.hasEnded)
        #expect(Set(record.all) == ["job", "\(EventLoopError.shutdown)"])
        // The loop has ended, so the job is never performed.
        loop.execute { record.add("late") }
        await loop.stop()
        #expect(record.all.count == 2)
    }
}

/// A pipe whose reader does not wait.
private final class Pipe: Sendable {
    let reader: CInt
    private let writer: CInt

    init() throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemFailure("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        close(reader)
        close(writer)
    }

    func write() { _ = Glibc.write(writer, "x", 1) }
}
