// SPDX-License-Identifier: MIT

import Dispatch
import Glibc
import NIOConcurrencyHelpers
import NIOCore
import Synchronization
import Threads

/// A receiver of a descriptor's readiness, called on the loop.
protocol ReadinessHandling: AnyObject {
    func ready(_ readiness: Readiness)
    /// Handles the end of the loop, which watches no descriptors any more.
    func loopEnded()
}

/// The event loop of the agent: peers' sockets, timers and the agent's own state are on its single thread.
///
/// NIO's own loops only support channels, and a channel costs more for each connection than all other work
/// for it. NIO's futures and timers work on this loop as on any other. Code that needs channels, such as the
/// network, uses a loop of NIO's.
///
/// - Entry points: ``start()``, ``watch(_:for:_:)``, ``execute(_:)``, ``stop()``.
/// - May not: run code that blocks.
package final class AgentLoop: NIOSerialEventLoopExecutor, @unchecked Sendable {
    // Unchecked because everything else than the lock's and the atomics' contents is confined to the loop's
    // thread.
    private enum Job: Sendable {
        case closure(@Sendable () -> Void)
        case task(UnownedJob)
    }

    /// The jobs from other threads.
    private struct Inbox {
        var jobs: [Job] = []
        /// Whether the loop waits and must be woken for a job.
        var isAsleep = false
        var hasEnded = false
    }

    private let clock: @Sendable () -> NIODeadline
    private let poller: Poller
    /// The only state that other threads pass to the loop, behind a lock that the thread sanitizer
    /// understands.
    private let inbox = NIOLockedValueBox(Inbox())
    /// The loop's thread, or 0 while it has none; the thread that uses the loop then counts as its thread.
    private let thread = Atomic<UInt>(0)
    private let lastTimer = Atomic<UInt64>(0)
    /// The jobs added on the loop itself.
    private var jobs: [Job] = []
    private var timers = LoopTimers()
    private var watches = WatchTable()
    /// The action at the end; the loop ends once it is set.
    private var onEnd: (@Sendable () -> Void)?

    /// Creates a loop without a thread; the creator calls ``turn(waiting:)``.
    ///
    /// - Parameter clock: The time for timers.
    /// - Throws: ``PollFailure`` if the system has no descriptors left.
    init(clock: @escaping @Sendable () -> NIODeadline = { .now() }) throws(PollFailure) {
        self.clock = clock
        poller = try Poller()
    }

    /// Starts a loop on a new thread.
    ///
    /// - Throws: ``PollFailure`` if no descriptor or thread is available.
    package static func start() throws(PollFailure) -> AgentLoop {
        let loop = try AgentLoop()
        let thread: SystemThread
        do throws(ThreadCreationError) {
            thread = try SystemThread { loop.run() }
        } catch {
            throw PollFailure(code: error.code)
        }
        thread.detach()
        // The thread stores it as well, so that both know it, whichever is first.
        loop.thread.store(thread.number, ordering: .sequentiallyConsistent)
        return loop
    }

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
        while onEnd == nil { turn(waiting: true) }
        end()
    }

    /// Runs one turn: waiting jobs, ready descriptors and due timers.
    ///
    /// Jobs that are added meanwhile run in the next turn, so that descriptors are polled in between.
    ///
    /// - Parameter waiting: Whether to wait until there is work.
    func turn(waiting: Bool = false) {
        let ready = poller.wait(milliseconds: waiting ? pollTimeout() : 0)
        let handedIn = inbox.withLockedValue { inbox in
            inbox.isAsleep = false
            return inbox.jobs.isEmpty ? [] : exchange(&inbox.jobs, with: [])
        }
        let own = jobs.isEmpty ? [] : exchange(&jobs, with: [])
        for job in own { run(job) }
        for job in handedIn { run(job) }
        for index in 0..<ready {
            guard let report = poller.report(index) else { continue }
            watches[report.key]?.ready(report.readiness)
        }
        if !timers.isEmpty {
            for timer in timers.takeDue(at: now) { timer.run() }
        }
    }

    private func run(_ job: Job) {
        switch job {
        case .closure(let closure): closure()
        case .task(let task): unsafe task.runSynchronously(on: asUnownedSerialExecutor())
        }
    }

    /// Prepares the loop to wait.
    ///
    /// - Returns: The timeout in milliseconds until the next work, or -1 if only other threads or descriptors
    ///   bring some.
    private func pollTimeout() -> CInt {
        guard jobs.isEmpty else { return 0 }
        var milliseconds: CInt = -1
        if let next = timers.next {
            let left = max(0, (next - now).nanoseconds)
            milliseconds = CInt(clamping: left / 1_000_000 + (left % 1_000_000 == 0 ? 0 : 1))
        }
        return inbox.withLockedValue { inbox in
            guard inbox.jobs.isEmpty else { return 0 }
            inbox.isAsleep = milliseconds != 0
            return milliseconds
        }
    }

    private func end() {
        for watch in watches.takeAll() { watch.loopEnded() }
        // Threads that wait for the loop are notified by jobs, so all jobs are run.
        while true {
            for timer in timers.takeAll() { timer.giveUp() }
            turn()
            let isDone = inbox.withLockedValue { inbox in
                inbox.hasEnded = jobs.isEmpty && inbox.jobs.isEmpty && timers.isEmpty
                return inbox.hasEnded
            }
            if isDone { break }
        }
        // A number that no thread has.
        thread.store(.max, ordering: .sequentiallyConsistent)
        onEnd?()
    }
}

// MARK: Descriptors

extension AgentLoop {
    /// The identity of a watched descriptor.
    struct WatchID {
        fileprivate let key: UInt64
    }

    /// Watches `descriptor` and calls `watcher`, which is retained, when it is ready, until ``forget(_:)``.
    ///
    /// - Throws: ``PollFailure`` if the kernel does not accept the descriptor.
    func watch(
        _ descriptor: CInt,
        for readiness: Readiness,
        _ watcher: any ReadinessHandling
    ) throws(PollFailure) -> WatchID {
        let watch = WatchID(key: watches.add(watcher))
        do {
            try poller.add(descriptor, for: readiness, key: watch.key)
        } catch {
            watches.remove(watch.key)
            throw error
        }
        return watch
    }

    func change(_ watch: WatchID, of descriptor: CInt, to readiness: Readiness) {
        poller.change(descriptor, to: readiness, key: watch.key)
    }

    /// Releases the watcher of a descriptor that is closed next and that no other process has.
    func forget(_ watch: WatchID) {
        watches.remove(watch.key)
    }

    /// Releases the watcher, and removes `descriptor` from the kernel's list, as another process may have it
    /// too.
    func forget(_ watch: WatchID, ofShared descriptor: CInt) {
        poller.remove(descriptor)
        watches.remove(watch.key)
    }
}

// MARK: EventLoop

extension AgentLoop {
    package var inEventLoop: Bool {
        let thread = thread.load(ordering: .relaxed)
        return thread == 0 || thread == UInt(pthread_self())
    }

    package var now: NIODeadline { clock() }

    package func execute(_ task: @escaping @Sendable () -> Void) {
        post(.closure(task))
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        post(.task(UnownedJob(job)))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    package func isIsolatingCurrentContext() -> Bool? { inEventLoop }

    package func checkIsolated() { preconditionInEventLoop() }

    @discardableResult
    package func scheduleTask<T>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        let promise = makePromise(of: T.self)
        let number = lastTimer.add(1, ordering: .relaxed).newValue
        let timer = LoopTimers.Timer {
            promise.assumeIsolated().completeWith(Result(catching: task))
        } giveUp: {
            promise.fail(EventLoopError.shutdown)
        }
        let isPosted = onLoop { $0.timers.add(timer, number: number, at: deadline) }
        if !isPosted { promise.fail(EventLoopError.shutdown) }
        return Scheduled(promise: promise) { [weak self] in
            self?.onLoop { $0.timers.remove(number) }
        }
    }

    @discardableResult
    package func scheduleTask<T>(
        in delay: TimeAmount,
        _ task: @escaping @Sendable () throws -> T
    ) -> Scheduled<T> {
        scheduleTask(deadline: now + delay, task)
    }

    /// Ends the loop like ``stop()``, and then calls `callback` on `queue`.
    package func shutdownGracefully(
        queue: DispatchQueue,
        _ callback: @escaping @Sendable ((any Error)?) -> Void
    ) {
        stop { queue.async { callback(nil) } }
    }

    /// Ends the loop and its thread: timers fail, and later jobs are dropped.
    package func stop() async {
        await withCheckedContinuation { continuation in stop { continuation.resume() } }
    }

    private func stop(_ then: @escaping @Sendable () -> Void) {
        let isPosted = onLoop { loop in
            guard let earlier = loop.onEnd else {
                loop.onEnd = then
                return
            }
            loop.onEnd = {
                earlier()
                then()
            }
        }
        if !isPosted { then() }
    }

    /// Runs `body` on the loop, at once if this is the loop's thread.
    ///
    /// - Returns: `false` if the loop has ended and `body` does not run.
    @discardableResult
    private func onLoop(_ body: @escaping @Sendable (AgentLoop) -> Void) -> Bool {
        guard inEventLoop else { return post(.closure { [self] in body(self) }) }
        body(self)
        return true
    }

    /// Adds a job.
    ///
    /// - Returns: `false` if the loop has ended and the job does not run.
    @discardableResult
    private func post(_ job: Job) -> Bool {
        if inEventLoop {
            jobs.append(job)
            return true
        }
        let (isTaken, isAsleep) = inbox.withLockedValue { inbox in
            guard !inbox.hasEnded else { return (false, false) }
            inbox.jobs.append(job)
            defer { inbox.isAsleep = false }
            return (true, inbox.isAsleep)
        }
        if isAsleep { poller.wake() }
        return isTaken
    }
}

/// The watchers by key; keys are never reused.
private struct WatchTable {
    private struct WatcherEntry {
        /// The number of times that the place has been used, so that a late report for an earlier watch finds
        /// no watcher.
        var uses: UInt32 = 0
        var watcher: (any ReadinessHandling)?
    }

    private var places: [WatcherEntry] = []
    private var free: [UInt32] = []

    subscript(key: UInt64) -> (any ReadinessHandling)? {
        let place = places[Int(UInt32(truncatingIfNeeded: key))]
        return place.uses == UInt32(truncatingIfNeeded: key >> 32) ? place.watcher : nil
    }

    mutating func add(_ watcher: any ReadinessHandling) -> UInt64 {
        let index = free.popLast() ?? UInt32(places.count)
        if Int(index) == places.count { places.append(WatcherEntry()) }
        places[Int(index)].uses &+= 1
        places[Int(index)].watcher = watcher
        return UInt64(places[Int(index)].uses) << 32 | UInt64(index)
    }

    mutating func remove(_ key: UInt64) {
        guard self[key] != nil else { return }
        let index = UInt32(truncatingIfNeeded: key)
        places[Int(index)].watcher = nil
        free.append(index)
    }

    mutating func takeAll() -> [any ReadinessHandling] {
        defer { for index in places.indices { places[index].watcher = nil } }
        return places.compactMap(\.watcher)
    }
}
