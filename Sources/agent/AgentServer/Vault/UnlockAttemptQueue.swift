// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import Synchronization
import TokenCore

/// The unlock attempts: one at a time, on a separate thread, and more slowly after each wrong one.
///
/// Deriving a key from a passphrase takes half a second and a quarter of a gigabyte. Only other attempts wait
/// for that: neither refreshes, nor tokens, nor writes of the store.
///
/// Safe to call from any thread.
final class UnlockAttemptQueue: Sendable {
    /// The maximum number of waiting attempts.
    ///
    /// More are rejected, so that a flood ends when its sender stops.
    static let maximumWaiting = 8

    private struct QueuedAttempt {
        /// The closure that makes the attempt.
        ///
        /// It returns whether the attempt was right (`nil` if that is unknown), and a closure that reports
        /// it.
        var attempt: @Sendable () -> (isRight: Bool?, answer: @Sendable () -> Void)
        var turnAway: @Sendable (StoreAccessError) -> Void
    }

    private struct State {
        var pace = UnlockThrottle()
        var waiting: [QueuedAttempt] = []
        var isBusy = false
        var isClosed = false
        var timer: Scheduled<Void>?
    }

    private let state = Mutex(State())
    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let eventLoop: any EventLoop
    private let timekeeper: any Timekeeper

    init(eventLoop: any EventLoop, timekeeper: any Timekeeper) {
        self.eventLoop = eventLoop
        self.timekeeper = timekeeper
        pool.start()
    }

    /// Runs `guess` in its turn.
    ///
    /// ``StoreAccessError/wrongKey`` makes the next attempt wait longer.
    ///
    /// - Throws: ``StoreAccessError`` from `guess`, or if the queue is full or closed.
    func run<Value: Sendable>(
        _ guess: @escaping @Sendable () throws(StoreAccessError) -> Value
    ) async throws(StoreAccessError) -> Value {
        typealias Outcome = CheckedContinuation<Result<Value, StoreAccessError>, Never>
        let result = await withCheckedContinuation { (continuation: Outcome) in
            add(
                QueuedAttempt(
                    attempt: {
                        let result = Result(catching: guess)
                        let isRight: Bool? =
                            switch result {
                            case .success: true
                            case .failure(.wrongKey): false
                            case .failure: nil
                            }
                        return (isRight, { continuation.resume(returning: result) })
                    },
                    turnAway: { continuation.resume(returning: .failure($0)) }
                )
            )
        }
        return try result.get()
    }

    /// Runs `work` on the same thread when it is free.
    ///
    /// It takes as long as an unlock attempt but is not one.
    ///
    /// - Throws: ``StoreAccessError`` from `work`, or if the queue is closed.
    func runUnguessed<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StoreAccessError) -> Value
    ) async throws(StoreAccessError) -> Value {
        let finished = pool.runIfActive(eventLoop: eventLoop) { Result(catching: work) }
        guard let result = try? await finished.get() else { throw .failed(Self.stopping) }
        return try result.get()
    }

    /// Begins the next attempt if enough time has passed.
    func timeReached() {
        beginNext()
    }

    /// Rejects all waiting attempts and all later ones.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            state.timer?.cancel()
            defer { state.waiting = [] }
            return state.waiting
        }
        for guess in waiting { guess.turnAway(.failed(Self.stopping)) }
    }

    /// Waits until no attempt is active any more.
    ///
    /// Call ``close()`` first.
    func finish() async {
        try? await pool.shutdownGracefully()
    }

    private static let stopping = "the agent is stopping"

    private func add(_ guess: QueuedAttempt) {
        let refusal = state.withLock { state -> StoreAccessError? in
            guard !state.isClosed else { return .failed(Self.stopping) }
            guard state.waiting.count < Self.maximumWaiting else {
                return .busy(retryAfter: UnlockThrottle.maximumDelay)
            }
            state.waiting.append(guess)
            return nil
        }
        guard let refusal else { return beginNext() }
        guess.turnAway(refusal)
    }

    private func beginNext() {
        let next = state.withLock { state -> QueuedAttempt? in
            guard !state.isBusy, !state.waiting.isEmpty else { return nil }
            state.timer?.cancel()
            let delay = state.pace.delay(at: timekeeper.now)
            guard delay <= .zero else {
                state.timer = eventLoop.scheduleTask(in: .nanoseconds(delay.saturatedNanoseconds)) {
                    [weak self] in self?.beginNext()
                }
                return nil
            }
            state.isBusy = true
            return state.waiting.removeFirst()
        }
        guard let next else { return }
        pool.submit { [self] status in
            guard status == .active else { return next.turnAway(.failed(Self.stopping)) }
            let (isRight, answer) = next.attempt()
            state.withLock { state in
                state.isBusy = false
                if let isRight { state.pace.guessed(isRight: isRight, at: timekeeper.now) }
            }
            // The attempt is counted before it is reported, so that the delay is in effect when the caller
            // gets the result.
            answer()
            beginNext()
        }
    }
}
