// SPDX-License-Identifier: MIT

import TokenCore

/// Runs the programs that print secrets, each of them only once at a time, however many sessions need it.
///
/// A program may show a dialog or lock a card after wrong PINs. Requests that waited while it failed share the failure;
/// after a success each is served by a run of its own, as an assertion or a one-time code is good once.
package actor SerialCommands: CommandRunning {
    private typealias Outcome = Result<CommandResult, CommandFailure>

    private let runner: any CommandRunning
    /// The commands that are running, each with the requests that wait for their turn.
    private var waiting: [[String]: [CheckedContinuation<Outcome?, Never>]] = [:]

    package init(_ runner: any CommandRunning) {
        self.runner = runner
    }

    /// How many requests wait for their turn.
    package var waitingCount: Int { waiting.values.map(\.count).reduce(0, +) }

    package func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult {
        if waiting[command] == nil {
            waiting[command] = []
        } else if let shared = await withCheckedContinuation({ waiting[command]?.append($0) }) {
            return try shared.get()
        }
        let outcome: Outcome
        do throws(CommandFailure) {
            outcome = .success(
                try await runner.run(command, environment: environment, timeLimit: timeLimit)
            )
        } catch {
            outcome = .failure(error)
        }
        finish(command, outcome)
        return try outcome.get()
    }

    private func finish(_ command: [String], _ outcome: Outcome) {
        var rest = waiting.removeValue(forKey: command) ?? []
        if let failure = outcome.failure {
            for request in rest { request.resume(returning: failure) }
        } else if !rest.isEmpty {
            let next = rest.removeFirst()
            waiting[command] = rest
            next.resume(returning: nil)
        }
    }
}

extension Result<CommandResult, CommandFailure> {
    /// Itself if the program failed, without what it printed.
    fileprivate var failure: Self? {
        guard case .success(var result) = self else { return self }
        guard result.status != 0 else { return nil }
        result.standardOutput = []
        return .success(result)
    }
}
