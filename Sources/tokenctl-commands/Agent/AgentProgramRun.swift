// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// One run of the agent's program, which does what this one has no libraries for.
struct AgentProgramRun {
    /// What it printed, if that is JSON.
    let answer: JSONValue?
    let status: Int32
    private let messages: [UInt8]

    /// Runs the program with `arguments` and waits for its end.
    ///
    /// - Throws: ``AgentError`` if there is no such program.
    init(_ arguments: [String]) throws(AgentError) {
        guard let program = AgentStarter.executable else {
            throw AgentError(.internal, "tokenagent is neither beside tokenctl nor in PATH")
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
        // It may list thousands of sessions, or of mistakes.
        answer = try? JSONValue(parsing: text, maximumValues: .max)
        messages = complaints.available()
    }

    /// Why it did not do what it was asked for.
    var failure: AgentError {
        let isMisconfigured = status == FailureCode.misconfigured.exitStatus
        return AgentError(
            isMisconfigured ? .misconfigured : .internal,
            AgentStarter.complaint(in: messages)
        )
    }
}
