// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import NIOPosix
import SealedStore
import Synchronization
import TokenCore

/// The increments of the rollback counter, which detects old copies of the store.
///
/// The program runs while the store continues to work: neither refreshes nor requests wait for it.
final class RollbackCounterUpdater: Sendable {
    /// The maximum time by which the last increment may delay the end of the agent: 5 seconds.
    private static let shutdownTimeout = Duration.seconds(5)

    private struct IncrementState {
        var timer: (due: NIODeadline, task: Scheduled<Void>)?
        /// The future that is fulfilled when the increment in flight has ended.
        var step: EventLoopFuture<Void>?
    }

    let program: RollbackCounterProgram
    private let store: SessionStore
    private let pool: NIOThreadPool
    private let logger: Logger
    private let planned = Mutex(IncrementState())
    private let storeError = Mutex<String?>(nil)

    init(program: RollbackCounterProgram, store: SessionStore, pool: NIOThreadPool, logger: Logger) {
        self.program = program
        self.store = store
        self.pool = pool
        self.logger = logger
    }

    /// The error of the latest increment of the rollback counter, or `nil` if it succeeded.
    var problem: String? { storeError.withLock { $0 } }

    /// Schedules an increment if the store requires one.
    ///
    /// Call it after the store has changed, and not on an event loop, as it may block.
    func planStep() {
        guard program.isConfigured, let delay = store.counterDelay else { return }
        let due = NIODeadline.now() + .nanoseconds(delay.saturatedNanoseconds)
        planned.withLock { plan in
            guard plan.step == nil else { return }
            if let timer = plan.timer, timer.due <= due { return }
            plan.timer?.task.cancel()
            let task = program.eventLoop.scheduleTask(deadline: due) { [self] in
                planned.withLock { $0.timer = nil }
                Task { await step() }
            }
            plan.timer = (due, task)
        }
    }

    /// Increments the counter for the latest changes before the agent ends, if the program is fast enough.
    func stepLast() async {
        guard program.isConfigured else { return }
        let end = ContinuousClock.now + RollbackCounterUpdater.shutdownTimeout
        await stepEnds(within: RollbackCounterUpdater.shutdownTimeout)
        let rest = end - ContinuousClock.now
        if rest > .zero { await step(early: true, within: rest) }
    }

    /// Waits for the increment in flight, but at most `limit`.
    private func stepEnds(within limit: Duration) async {
        guard let step = planned.withLock(\.step) else { return }
        let promise = program.eventLoop.makePromise(of: Void.self)
        let timer = program.eventLoop.scheduleTask(in: .nanoseconds(limit.saturatedNanoseconds)) {
            promise.succeed()
        }
        step.whenComplete { _ in promise.succeed() }
        try? await promise.futureResult.get()
        timer.cancel()
    }

    /// Increments the rollback counter, unless an increment is in flight.
    private func step(early: Bool = false, within limit: Duration = RollbackCounterProgram.timeLimit) async {
        let promise = program.eventLoop.makePromise(of: Void.self)
        defer { promise.succeed() }
        let isFree = planned.withLock { plan in
            guard plan.step == nil else { return false }
            plan.step = promise.futureResult
            return true
        }
        guard isFree else { return }
        if let order = await onPool({ $0.beginCounterStep(early: early) }) {
            let reading = await program.run(order, within: limit)
            note(await onPool { $0.finishCounterStep(order, reading) })
        }
        planned.withLock { $0.step = nil }
        _ = await onPool { [self] _ -> Void? in planStep() }
    }

    private func note(_ problem: String?) {
        storeError.withLock { $0 = problem }
        guard let problem else { return }
        logger.warning("rollback counter failed", metadata: ["reason": "\(problem)"])
    }

    /// Runs `work` on the thread that may block.
    ///
    /// - Returns: The result of `work`, or `nil` if that thread has ended.
    private func onPool<Value: Sendable>(
        _ work: @escaping @Sendable (SessionStore) -> Value?
    ) async -> Value? {
        let result = pool.runIfActive(eventLoop: program.eventLoop) { [store] in work(store) }
        return try? await result.get()
    }
}
