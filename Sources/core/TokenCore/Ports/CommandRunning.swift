// SPDX-License-Identifier: MIT

/// The port that runs other programs outside the agent's process.
///
/// The agent itself never executes programs.
package protocol CommandRunning: Sendable {
    /// Runs `command` (argv, never a shell line) and collects its standard output, at most 64 KiB.
    ///
    /// The child gets a scrubbed environment plus `environment`, and only the descriptors 0–2. It is killed
    /// with its process group when `timeLimit` has passed.
    func run(
        _ command: [String],
        environment: [String: String],
        timeLimit: Duration
    ) async throws(CommandFailure) -> CommandResult
}

extension CommandRunning {
    /// Returns the standard output of `command` if it ends with the exit status 0.
    ///
    /// - Throws: ``CommandFailure`` if the command cannot be run to its end, or ends with another status.
    package func output(
        of command: [String],
        within timeLimit: Duration
    ) async throws(CommandFailure) -> [UInt8] {
        let result = try await run(command, environment: [:], timeLimit: timeLimit)
        guard result.status == 0 else { throw CommandFailure(result, of: command) }
        return result.standardOutput
    }
}

/// The result of a command that ran to its end.
package struct CommandResult: Equatable, Sendable {
    /// The exit status, or 128 + signal number.
    package var status: Int32
    package var standardOutput: [UInt8]
    /// The first line of its standard error, or `nil` if there is none.
    package var complaint: StandardErrorLine?

    package init(status: Int32, standardOutput: [UInt8], complaint: StandardErrorLine? = nil) {
        self.status = status
        self.standardOutput = standardOutput
        self.complaint = complaint
    }
}

extension CommandFailure {
    /// Creates the failure of a `command` that ended with a status other than 0.
    package init(_ result: CommandResult, of command: [String]) {
        let message = "\(ServerText.cleaned(command.first ?? "")): exit status \(result.status)"
        self.init(message: message, complaint: result.complaint)
    }
}
