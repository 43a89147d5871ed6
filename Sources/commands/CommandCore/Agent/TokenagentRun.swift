// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A run of `tokenagent`, which does what this program has no libraries for.
package struct TokenagentRun {
    /// The program's output if it is JSON, or `nil`.
    package let answer: JSONValue?
    package let status: Int32
    private let messages: [UInt8]

    /// Runs the program with `arguments` and waits for its exit.
    ///
    /// - Throws: ``AgentError`` with the code `internal` if the program is not installed or cannot be
    ///   started.
    package init(_ arguments: [String]) throws(AgentError) {
        guard let program = AgentStarter.executable else {
            throw AgentError(.internal, "tokenagent not found next to tokenctl or in PATH")
        }
        var output = try Pipe()
        let complaints = try Pipe()
        let child = try ChildProcess(
            program,
            arguments,
            output: .descriptor(output.writing),
            error: .descriptor(complaints.writing)
        )
        output.closeWriting()
        let text = output.all()
        status = child.wait()
        // The output may list thousands of sessions or errors.
        answer = try? JSONValue(parsing: text, maximumValues: .max)
        messages = complaints.available()
    }

    /// The error for a run that failed.
    package var failure: AgentError {
        let isMisconfigured = status == FailureCode.misconfigured.exitStatus
        let complaint = AgentStarter.complaint(in: messages)
        return AgentError(
            isMisconfigured ? .misconfigured : .internal,
            complaint.message,
            remedy: complaint.remedy
        )
    }
}
