// SPDX-License-Identifier: MIT

import TokenCore

/// A runner of programs that print secrets, each only once at a time for all sessions.
///
/// A program may show a dialog or lock a card after wrong PINs. Requests that waited during a failed run
/// share its failure. After a success each waiting request gets its own run, because an assertion or a
/// one-time code works only once.
package actor SecretCommandRunner: CommandRunning {
    private typealias Outcome = Result<CommandResult, CommandFailure>

    private let runner: any CommandRunning
    /// The running commands, each with the requests that wait for their turn.
    private var waiting: [[String]: [CheckedContinuation<Outcome?, Never>]] = [:]

    package init(_ runner: any CommandRunning) {
        self.runner = runner
    }

    /// The number of requests that wait for their turn.
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
    /// This outcome without the program's output if the program failed, or `nil` if it succeeded.
    fileprivate var failure: Self? {
        guard case .success(var result) = self else { return self }
        guard result.status != 0 else { return nil }
        result.standardOutput = []
        return .success(result)
    }
}
