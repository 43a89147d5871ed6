// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// Automatic start of the agent if none is running, as gpg does.
package enum AgentStarter {
    /// Whether commands may start an agent: `true` unless `TOKENAGENT_AUTOSTART` is 0.
    package static var isAllowed: Bool { AgentPaths.variable("TOKENAGENT_AUTOSTART") != "0" }

    /// Starts `tokenagent` in the background and waits until its socket accepts requests.
    ///
    /// - Returns: The message of the agent, such as that an agent is already running, or `nil`.
    /// - Throws: ``AgentError`` with the code `noAgent`, or `misconfigured` if the configuration is wrong.
    static func start(socket: String?) throws(AgentError) -> String? {
        guard let program = executable else {
            throw AgentError(
                .noAgent,
                "cannot start the agent: tokenagent not found next to tokenctl or in PATH",
                remedy: .set("PATH to include the directory of tokenagent")
            )
        }
        let messages = try Pipe()
        let arguments = socket.map { ["-a", $0] } ?? []
        let child = try ChildProcess(program, arguments, output: .null, error: .descriptor(messages.writing))
        let status = child.wait()
        let said = messages.available()
        guard status == 0 else { throw failure(status, said) }
        return said.isEmpty ? nil : complaint(in: said).message
    }

    /// The path of the agent that was installed with this program, else of the one in `PATH`, or `nil`.
    package static var executable: String? {
        if let installed = InstalledProgram.path("tokenagent") { return installed }
        let path = AgentPaths.variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").filter { $0.hasPrefix("/") }.map { $0 + "/tokenagent" }
            .first { unsafe access($0, X_OK) == 0 }
    }

    /// Returns the error for an agent that did not start; a wrong configuration keeps its own exit status.
    private static func failure(_ status: Int32, _ messages: [UInt8]) -> AgentError {
        let isMisconfigured = status == FailureCode.misconfigured.exitStatus
        let complaint = complaint(in: messages)
        return AgentError(
            isMisconfigured ? .misconfigured : .noAgent,
            "cannot start the agent: \(complaint.message)",
            remedy: complaint.remedy ?? (isMisconfigured ? remedy : .run("tokenagent --foreground"))
        )
    }

    /// The remedy for a wrong configuration: the command that shows all errors, or the variable that names no
    /// file.
    private static var remedy: Remedy {
        guard let file = AgentPaths.variable("TOKENAGENT_CONFIG"), !file.isEmpty,
            unsafe access(file, F_OK) != 0
        else { return .run("tokenctl config check") }
        return .set("TOKENAGENT_CONFIG to an existing file")
    }

    /// Returns the first line that the agent wrote, without the program's name, and the remedy at its end.
    package static func complaint(in messages: [UInt8]) -> (message: String, remedy: Remedy?) {
        let lines = String(decoding: messages, as: UTF8.self).split(separator: "\n")
        guard let first = lines.first else { return ("no reason given", nil) }
        let message = first.hasPrefix("tokenagent: ") ? first.dropFirst(12) : first
        return Remedy.split(from: String(message))
    }
}
