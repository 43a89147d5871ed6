// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// What `tokenagent --check-config --json` says about a configuration file.
struct ConfigurationReport {
    var message: ConfigurationMessage

    var file: String { message.file ?? "" }

    var isGood: Bool { message.isGood == true }

    /// Whether an agent would start with it: a mistake in a file beside it costs that one's session alone.
    var isUsable: Bool { message.sessions != nil }

    /// The state of a configuration that has no mistakes.
    var summary: String {
        let count = message.sessions ?? 0
        guard unsafe count > 0 || access(file, F_OK) == 0 else { return "no configuration file at \(file)" }
        return "\(file): OK (\(count) session\(count == 1 ? "" : "s"))"
    }

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
        let run = try AgentProgramRun(
            ["--check-config", "--json"] + (file.map { ["--config", $0] } ?? [])
                + (drafts.map { ["--drafts", $0] } ?? []) + (session.map { ["--session", $0] } ?? [])
        )
        guard let message = run.answer.flatMap({ ConfigurationMessage($0) }) else { throw run.failure }
        self.message = message
    }
}
