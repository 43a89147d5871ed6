// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// What `tokenagent --check-config --json` says about a configuration file.
struct ConfigurationReport {
    var message: ConfigurationMessage

    var file: String { message.file ?? "" }

    var isGood: Bool { message.isGood == true }

    /// Whether an agent would start with it: a mistake in a file beside it costs that one's session alone.
    var isUsable: Bool { message.sessions != nil }

    /// The mistakes in the manner of a compiler: `FILE:LINE: KEY: MESSAGE`.
    var complaints: [String] {
        (message.problems ?? []).map { ConfigurationReport.complaint($0, in: file) }
    }

    /// One mistake; `file` is the configuration file.
    static func complaint(_ problem: ProblemMessage, in file: String) -> String {
        let place = (problem.file ?? file) + (problem.line.map { ":\($0)" } ?? "")
        return [place, problem.key, problem.message].compactMap(\.self).joined(separator: ": ")
    }

    /// Has the agent's program read a configuration.
    ///
    /// - Parameters:
    ///   - file: nil: the file of this user.
    ///   - drafts: a directory of further session files.
    ///   - session: the session whose place is wanted.
    /// - Throws: ``AgentError`` if there is no program, or the file cannot be read.
    init(
        of file: String? = nil,
        adding drafts: String? = nil,
        about session: String? = nil
    ) throws(AgentError) {
        guard let program = AgentStarter.executable else {
            throw AgentError(.internal, "tokenagent is neither beside tokenctl nor in PATH")
        }
        var output = try Pipe()
        let messages = try Pipe()
        let child = try ChildProcess(
            program,
            ["--check-config", "--json"] + (file.map { ["--config", $0] } ?? [])
                + (drafts.map { ["--drafts", $0] } ?? []) + (session.map { ["--session", $0] } ?? []),
            output: .descriptor(output.writing),
            error: .descriptor(messages.writing)
        )
        output.closeWriting()
        let text = output.all()
        let status = child.wait()
        // It lists every mistake, and with thousands of sessions there may be thousands.
        let json = try? JSONValue(parsing: text, maximumValues: .max)
        if let message = json.flatMap({ ConfigurationMessage($0) }) {
            self.message = message
            return
        }
        let isMisconfigured = status == FailureCode.misconfigured.exitStatus
        throw AgentError(
            isMisconfigured ? .misconfigured : .internal,
            AgentStarter.complaint(in: messages.available())
        )
    }
}
