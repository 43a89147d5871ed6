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
        guard result.status == 0 else { throw CommandFailure(result, of: command) }
        return result.standardOutput
    }
}

package struct CommandResult: Equatable, Sendable {
    /// Exit status, or 128 + signal number.
    package var status: Int32
    package var standardOutput: [UInt8]
    /// What it wrote to its standard error; `nil` if nothing.
    package var complaint: ProgramComplaint?

    package init(status: Int32, standardOutput: [UInt8], complaint: ProgramComplaint? = nil) {
        self.status = status
        self.standardOutput = standardOutput
        self.complaint = complaint
    }
}

/// The command could not be run to its end, or failed.
package struct CommandFailure: Error, Equatable, Sendable {
    /// For a person: names the command and what went wrong, never its output.
    package var message: String
    /// Whether the program says that a password or a PIN is wrong (``ProgramComplaint/rejectsCredential``).
    package var rejectsCredential: Bool

    /// - Parameters:
    ///   - message: names the command and what went wrong.
    ///   - complaint: is added to it.
    package init(message: String, complaint: ProgramComplaint? = nil) {
        self.message = message + (complaint.map { ": \($0)" } ?? "")
        rejectsCredential = complaint?.rejectsCredential ?? false
    }

    /// The failure of `command`, which has ended with another status than 0.
    package init(_ result: CommandResult, of command: [String]) {
        let message = "\(ServerText.cleaned(command.first ?? "")): exit status \(result.status)"
        self.init(message: message, complaint: result.complaint)
    }
}
