// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import TokenCore

/// The thread of the store; it runs jobs in the order in which they are added.
///
/// Confined to the agent's event loop, except for the jobs themselves.
final class StoreThread {
    private let store: any StoreControlling
    private let pool: NIOThreadPool
    private let eventLoop: any EventLoop
    private let work: PendingWork
    /// The number of unfinished jobs.
    private(set) var jobs = 0
    /// The number of all jobs so far; every change of a session is among them.
    private(set) var jobsBegun = 0

    init(store: any StoreControlling, pool: NIOThreadPool, eventLoop: any EventLoop, work: PendingWork) {
        self.store = store
        self.pool = pool
        self.eventLoop = eventLoop
        self.work = work
    }

    /// Runs `job` after all earlier jobs, and calls `then` on the event loop with its result.
    func run<Value: Sendable>(
        _ job: @escaping @Sendable (any StoreControlling) -> Value,
        then: @escaping (Value) -> Void = { _ in }
    ) {
        let store = store
        work.begin()
        jobs += 1
        jobsBegun += 1
        pool.runIfActive(eventLoop: eventLoop) { job(store) }.assumeIsolated().whenComplete { [self] result in
            jobs -= 1
            if case .success(let value) = result { then(value) }
            work.end()
        }
    }

    /// Runs `job` after all earlier jobs, and calls `then` with its error, or `nil` if it succeeded.
    func attempt(
        _ job: @escaping @Sendable (any StoreControlling) throws(StorageFailure) -> Void,
        then: @escaping (StorageFailure?) -> Void
    ) {
        run { store -> StorageFailure? in
            do throws(StorageFailure) {
                try job(store)
                return nil
            } catch {
                return error
            }
        } then: {
            then($0)
        }
    }

    /// Runs `job` after all earlier jobs and returns its error, or `nil` if it succeeded.
    func failure(
        of job: @escaping @Sendable (any StoreControlling) throws(StorageFailure) -> Void
    ) async -> StorageFailure? {
        await withCheckedContinuation { continuation in attempt(job) { continuation.resume(returning: $0) } }
    }

    /// Runs `job` after all earlier jobs and returns its result.
    func result<Value: Sendable>(of job: @escaping @Sendable (any StoreControlling) -> Value) async -> Value {
        await withCheckedContinuation { continuation in run(job) { continuation.resume(returning: $0) } }
    }
}
