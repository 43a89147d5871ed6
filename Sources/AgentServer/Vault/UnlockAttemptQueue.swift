// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import Synchronization
import TokenCore

/// Tries secrets against the store: one at a time, on its own thread, and more slowly after each wrong one.
///
/// To make a key of a passphrase takes half a second and a quarter of a gigabyte. Only another guess waits
/// for that: not a refresh, not a token, not what the store has to write.
final class UnlockAttemptQueue: Sendable {
    /// Guesses that wait for their turn; more are turned away, so that a flood does not outlast itself.
    static let mostWaiting = 8

    private struct Guess {
        /// Tries it; returns whether it is right (`nil` if that could not be found out), and how to answer.
        var attempt: @Sendable () -> (isRight: Bool?, answer: @Sendable () -> Void)
        var turnAway: @Sendable (StoreAccessError) -> Void
    }

    private struct State {
        var pace = UnlockThrottle()
        var waiting: [Guess] = []
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

    /// Runs `guess` when its turn has come; ``StoreAccessError/wrongKey`` makes the next one wait longer.
    func run<Value: Sendable>(
        _ guess: @escaping @Sendable () throws(StoreAccessError) -> Value
    ) async throws(StoreAccessError) -> Value {
        typealias Outcome = CheckedContinuation<Result<Value, StoreAccessError>, Never>
        let result = await withCheckedContinuation { (continuation: Outcome) in
            add(
                Guess(
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

    /// Runs `work` on the same thread as soon as that is free: it takes as long as a guess but is not one.
    func runUnguessed<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StoreAccessError) -> Value
    ) async throws(StoreAccessError) -> Value {
        let finished = pool.runIfActive(eventLoop: eventLoop) { Result(catching: work) }
        guard let result = try? await finished.get() else { throw .failed(Self.stopping) }
        return try result.get()
    }

    /// Begins the next guess if enough time has passed.
    func timeReached() {
        beginNext()
    }

    /// Turns away everybody who waits, and everybody who comes later.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            state.timer?.cancel()
            defer { state.waiting = [] }
            return state.waiting
        }
        for guess in waiting { guess.turnAway(.failed(Self.stopping)) }
    }

    /// Returns when no guess is under way any more; call it after ``close()``.
    func finish() async {
        try? await pool.shutdownGracefully()
    }

    private static let stopping = "the agent is stopping"

    private func add(_ guess: Guess) {
        let refusal = state.withLock { state -> StoreAccessError? in
            guard !state.isClosed else { return .failed(Self.stopping) }
            guard state.waiting.count < Self.mostWaiting else {
                return .busy(retryAfter: UnlockThrottle.longestPause)
            }
            state.waiting.append(guess)
            return nil
        }
        guard let refusal else { return beginNext() }
        guess.turnAway(refusal)
    }

    private func beginNext() {
        let next = state.withLock { state -> Guess? in
            guard !state.isBusy, !state.waiting.isEmpty else { return nil }
            state.timer?.cancel()
            let pause = state.pace.pause(at: timekeeper.now)
            guard pause <= .zero else {
                state.timer = eventLoop.scheduleTask(in: .nanoseconds(pause.saturatedNanoseconds)) {
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
            // Counted before it is answered, so that the pause is in force when the answer is there.
            answer()
            beginNext()
        }
    }
}
