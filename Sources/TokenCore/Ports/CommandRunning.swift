// SPDX-License-Identifier: MIT

/// Runs other programs outside the agent's own process; the agent itself never executes anything.
package protocol CommandRunning: Sendable {
    /// Runs `command` (argv, never a shell line) and collects its standard output, at most 64 KiB.
    ///
    /// The child gets a scrubbed environment plus `environment`, no descriptors but 0–2, and is killed with its
    /// process group when `timeLimit` has passed.
    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult
}

extension CommandRunning {
    /// What `command` prints on its way to the exit status 0.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be run to its end, or ends with another status.
    package func output(
        of command: [String],
        within timeLimit: Duration
    ) async throws(CommandFailure) -> [UInt8] {
        let result = try await run(command, environment: [:], timeLimit: timeLimit)
        guard result.status == 0 else {
            throw CommandFailure(message: "\(command.first ?? ""): exit status \(result.status)")
        }
        return result.standardOutput
    }
}

package struct CommandResult: Equatable, Sendable {
    /// Exit status, or 128 + signal number.
    package var status: Int32
    package var standardOutput: [UInt8]

    package init(status: Int32, standardOutput: [UInt8]) {
        self.status = status
        self.standardOutput = standardOutput
    }
}

/// The command could not be run to its end, or failed.
package struct CommandFailure: Error, Equatable, Sendable {
    /// For a person: names the command and what went wrong, never its output.
    package var message: String

    package init(message: String) {
        self.message = message
    }
}
