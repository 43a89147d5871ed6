// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import TokenCore

/// The one thread on which the store works; what it is given keeps its order.
///
/// Confined to the event loop, but for the jobs themselves.
final class StoreThread {
    private let store: any StoreControlling
    private let pool: NIOThreadPool
    private let eventLoop: any EventLoop
    private let work: PendingWork
    /// Given to it and not finished.
    private(set) var jobs = 0
    /// Ever given to it; whatever changes a session is among it.
    private(set) var jobsBegun = 0

    init(store: any StoreControlling, pool: NIOThreadPool, eventLoop: any EventLoop, work: PendingWork) {
        self.store = store
        self.pool = pool
        self.eventLoop = eventLoop
        self.work = work
    }

    /// Does `job` behind all that was given before, and comes back to the loop with its result.
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

    /// Does `job` behind all that was given before, and comes back with why it failed, if it did.
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

    /// Does `job` behind all that was given before.
    func result<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        of job: @escaping @Sendable (any StoreControlling) -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in run(job) { continuation.resume(returning: $0) } }
    }
}
