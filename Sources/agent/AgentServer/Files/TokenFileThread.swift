// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix

/// The thread that writes token files, in the order in which jobs are added; the first job starts it.
///
/// It is not the store's thread: a file system that does not respond must not delay the writing of a
/// refreshed token's record.
///
/// Confined to the agent's event loop, except for the jobs themselves.
final class TokenFileThread {
    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let eventLoop: any EventLoop
    private let work: PendingWork
    private var isBegun = false
    /// The number of unfinished jobs.
    private(set) var jobs = 0

    init(eventLoop: any EventLoop, work: PendingWork) {
        self.eventLoop = eventLoop
        self.work = work
    }

    /// Runs `job` after all earlier jobs, and calls `then` on the event loop with its result.
    func run<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value,
        then: @escaping (Value) -> Void = { _ in }
    ) {
        if !isBegun { pool.start() }
        isBegun = true
        work.begin()
        jobs += 1
        pool.runIfActive(eventLoop: eventLoop, job).assumeIsolated().whenComplete { [self] result in
            jobs -= 1
            if case .success(let value) = result { then(value) }
            work.end()
        }
    }

    /// Runs `job` after all earlier jobs and returns its result.
    func result<Value: Sendable>(of job: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in run(job) { continuation.resume(returning: $0) } }
    }

    /// Calls `action` after all earlier jobs, but no later than after `limit`.
    func drain(within limit: TimeAmount, then action: @escaping () -> Void) {
        guard jobs > 0 else { return action() }
        var isCalled = false
        let once = {
            guard !isCalled else { return }
            isCalled = true
            action()
        }
        let timer = eventLoop.assumeIsolated().scheduleTask(in: limit) { once() }
        run(
            {},
            then: { _ in
                timer.cancel()
                once()
            }
        )
    }

    /// Stops accepting jobs, without waiting for a job that the disk delays.
    func end() {
        if isBegun { pool.shutdownGracefully { _ in } }
    }
}
