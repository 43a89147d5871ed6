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
    private static let turns = Turns(3)

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
