// SPDX-License-Identifier: MIT

import Testing

/// The real programs against a real authorization server, one test per promise.
///
/// Every test has an agent, a home and an issuer of its own. A few run side by side; all of them at once would
/// only measure how they hinder each other. The time limit counts the wait for a turn as well.
@Suite(.takingTurns, .timeLimit(.minutes(10)))
enum EndToEnd {}

/// Limits how many tests run at the same time.
struct TakingTurns: SuiteTrait, TestTrait, TestScoping {
    private static let turns = Turns(3)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        await TakingTurns.turns.take()
        do {
            try await function()
        } catch {
            await TakingTurns.turns.give()
            throw error
        }
        await TakingTurns.turns.give()
    }
}

extension Trait where Self == TakingTurns {
    static var takingTurns: Self { TakingTurns() }
}

private actor Turns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        free = count
    }

    func take() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func give() {
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        free += 1
    }
}
