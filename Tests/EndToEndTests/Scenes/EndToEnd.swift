// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The real programs against a real authorization server, one test per promise.
///
/// Every test has an agent, a home and an issuer of its own. A few run side by side; all of them at once would
/// only measure how they hinder each other. The time limit counts the wait for a turn as well.
@Suite(.takingTurns, .timeLimit(.minutes(10)))
enum EndToEnd {}

/// Limits how many tests run at the same time.
struct TakingTurns: SuiteTrait, TestTrait, TestScoping {
    /// All but one of the tests that run at a time (`TEST_WIDTH`), so that others go on beside those that wait for processes.
    private static let turns: Turns = {
        let width = TestEnvironment.value("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH").flatMap {
            Int($0)
        }
        return Turns(max(3, (width ?? 4) - 1))
    }()

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await TakingTurns.turns.whileHolding(function)
    }
}

extension Trait where Self == TakingTurns {
    static var takingTurns: Self { TakingTurns() }
}

extension Trait where Self == ConditionTrait {
    /// For what takes minutes of processor time: `make test-full` runs it, `make test` does not.
    static var full: Self {
        .enabled(if: TestEnvironment.isFull, "takes minutes of processor time; set TOKENAGENT_TEST_FULL=1")
    }
}
