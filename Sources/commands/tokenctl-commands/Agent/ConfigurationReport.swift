// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The output of `tokenagent --check-config --json` for a configuration file.
struct ConfigurationReport {
    var message: ConfigurationCheckResultMessage

    var file: String { message.file ?? "" }

    var isGood: Bool { message.isGood == true }

    /// Whether an agent would start with the configuration; an error in a session file affects only that
    /// session.
    var isUsable: Bool { message.sessions != nil }

    /// A summary of a configuration without errors.
    var summary: String {
        let count = message.sessions ?? 0
        let isPresent = unsafe access(file, F_OK) == 0
        guard count > 0 || isPresent else { return "no configuration file at \(file)" }
        // Without a configuration file, all sessions are from the directory next to it.
        let place = isPresent ? file : ConfigurationReport.sessionDirectory(nextTo: file)
        return "\(place): OK (\(count) session\(count == 1 ? "" : "s"))"
    }

    /// Returns the path of `sessions.d` next to the configuration file at `path`.
    static func sessionDirectory(nextTo path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return (end.map { path[...$0] } ?? "") + "sessions.d"
    }

    /// The errors in the format of a compiler: `FILE:LINE: KEY: MESSAGE`.
    var complaints: [String] {
        (message.problems ?? []).map { ConfigurationReport.complaint($0, in: file) }
    }

    /// Formats one error; `file` is the configuration file.
    static func complaint(_ problem: ProblemMessage, in file: String) -> String {
        let place = (problem.file ?? file) + (problem.line.map { ":\($0)" } ?? "")
        return [place, problem.key, problem.message].compactMap(\.self).joined(separator: ": ")
    }

    /// Makes `tokenagent` read a configuration.
    ///
    /// - Parameters:
    ///   - file: The configuration file, which must exist, or `nil` for that of the agent.
    ///   - agentFile: The path of the configuration file that the agent uses, or `nil` for that of this user.
    ///   - drafts: A directory of additional session files.
    ///   - session: The session to locate.
    /// - Throws: ``AgentError`` if the program is not installed or the file cannot be read.
    init(
        of file: String? = nil,
        ofAgent agentFile: String? = nil,
        adding drafts: String? = nil,
        about session: String? = nil
    ) throws(AgentError) {
        let run = try TokenagentRun(
            ["--check-config", "--json"]
                + (file.map { ["--config", $0] } ?? agentFile.map { ["--agent-config", $0] } ?? [])
                + (drafts.map { ["--drafts", $0] } ?? []) + (session.map { ["--session", $0] } ?? [])
        )
        guard let message = run.answer.flatMap({ ConfigurationCheckResultMessage($0) }) else {
            throw run.failure
        }
        self.message = message
    }
}
