// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix

/// The thread on which token files are written, in the order in which the jobs are given; it begins with the first.
///
/// Not the store's: a directory whose file system does not answer must keep no refresh from being durable.
/// Confined to the event loop, except for the jobs themselves.
final class TokenFileThread {
    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let eventLoop: any EventLoop
    private let work: PendingWork
    private var isBegun = false
    /// Jobs given to it and not finished.
    private(set) var jobs = 0

    init(eventLoop: any EventLoop, work: PendingWork) {
        self.eventLoop = eventLoop
        self.work = work
    }

    /// Runs `job` after all earlier ones, and calls `then` on the loop with its result.
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

    /// Runs `job` after all earlier ones and returns its result.
    func result<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        of job: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in run(job) { continuation.resume(returning: $0) } }
    }

    /// Calls `action` once all earlier jobs are done, but not later than after `limit`.
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

    /// Takes no more jobs; waits for none that the disk holds up.
    func end() {
        if isBegun { pool.shutdownGracefully { _ in } }
    }
}
