// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import NIOPosix
import SealedStore
import Synchronization
import TokenCore

/// The steps of the counter that detects old copies of the store.
///
/// The program runs while the store continues to work: neither refreshes nor requests wait for it.
final class CounterMaintenance: Sendable {
    /// The maximum time by which the last step may delay the end of the agent: 5 seconds.
    private static let farewell = Duration.seconds(5)

    private struct Plan {
        var timer: (due: NIODeadline, task: Scheduled<Void>)?
        /// The future that is fulfilled when the active step has ended.
        var step: EventLoopFuture<Void>?
    }

    let program: CounterProgram
    private let store: SessionStore
    private let pool: NIOThreadPool
    private let logger: Logger
    private let planned = Mutex(Plan())
    private let trouble = Mutex<String?>(nil)

    init(program: CounterProgram, store: SessionStore, pool: NIOThreadPool, logger: Logger) {
        self.program = program
        self.store = store
        self.pool = pool
        self.logger = logger
    }

    /// The error of the last step, or `nil` if it succeeded.
    var problem: String? { trouble.withLock { $0 } }

    /// Schedules a step if the store requires one.
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

    /// Makes a last step for the latest changes before the agent ends, if the program is fast enough.
    func stepLast() async {
        guard program.isConfigured else { return }
        let end = ContinuousClock.now + CounterMaintenance.farewell
        await stepEnds(within: CounterMaintenance.farewell)
        let rest = end - ContinuousClock.now
        if rest > .zero { await step(early: true, within: rest) }
    }

    /// Waits for the active step, but at most `limit`.
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

    /// Moves the rollback counter by one, unless a move is in flight.
    private func step(early: Bool = false, within limit: Duration = CounterProgram.timeLimit) async {
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
        trouble.withLock { $0 = problem }
        guard let problem else { return }
        logger.warning("old copies of the store may go unnoticed", metadata: ["reason": "\(problem)"])
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
