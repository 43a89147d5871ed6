// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// Starts the agent when none answers, as gpg does.
package enum AgentStarter {
    /// Whether the environment lets commands start an agent: yes, unless `TOKENAGENT_AUTOSTART` is 0.
    package static var isAllowed: Bool { AgentPaths.variable("TOKENAGENT_AUTOSTART") != "0" }

    /// Starts `tokenagent` in the background and returns when its socket answers.
    ///
    /// - Returns: what it said, such as that an agent is running already.
    static func start(socket: String?) throws(AgentError) -> String? {
        guard let program = executable else {
            throw AgentError(
                .noAgent,
                "no agent is running and tokenagent is neither beside tokenctl nor in PATH",
                remedy: "start it with: tokenagent"
            )
        }
        let messages = try Pipe()
        let arguments = socket.map { ["-a", $0] } ?? []
        let child = try ChildProcess(program, arguments, output: .null, error: .descriptor(messages.writing))
        let status = child.wait()
        let said = messages.available()
        guard status == 0 else { throw failure(status, said) }
        return said.isEmpty ? nil : complaint(in: said)
    }

    /// The agent that was installed with this program, else the one in `PATH`.
    package static var executable: String? {
        if let installed = InstalledProgram.path("tokenagent") { return installed }
        let path = AgentPaths.variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").filter { $0.hasPrefix("/") }.map { $0 + "/tokenagent" }
            .first { unsafe access($0, X_OK) == 0 }
    }

    /// What the agent said when it did not start; a bad configuration keeps its own exit status.
    private static func failure(_ status: Int32, _ messages: [UInt8]) -> AgentError {
        let isMisconfigured = status == FailureCode.misconfigured.exitStatus
        return AgentError(
            isMisconfigured ? .misconfigured : .noAgent,
            "cannot start the agent: \(complaint(in: messages))",
            remedy: isMisconfigured ? remedy : "run: tokenagent --foreground"
        )
    }

    /// The command that shows every mistake; if a variable leads to no file, that is the mistake.
    private static var remedy: String {
        guard let file = AgentPaths.variable("TOKENAGENT_CONFIG"), !file.isEmpty,
            unsafe access(file, F_OK) != 0
        else { return "tokenctl config check" }
        return "correct or unset TOKENAGENT_CONFIG"
    }

    /// The first line the agent wrote, without its name.
    package static func complaint(in messages: [UInt8]) -> String {
        let lines = String(decoding: messages, as: UTF8.self).split(separator: "\n")
        guard let first = lines.first else { return "no reason given" }
        return String(first.hasPrefix("tokenagent: ") ? first.dropFirst(12) : first)
    }
}
