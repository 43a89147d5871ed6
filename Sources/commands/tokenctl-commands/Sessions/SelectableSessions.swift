// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The configured sessions a user can choose from, and the advice if there are none.
enum SelectableSessions {
    /// The advice to create a session.
    static let remedy = Remedy.run("tokenctl add NAME")
    private static let noneMessage = "no sessions configured"
    /// The maximum number of names in a message.
    private static let maximumNames = 8

    /// The lines that are printed if there are no sessions.
    static let none = [noneMessage, remedy.indented]

    /// Returns the names of the sessions, or `nil` if neither a running agent nor the configuration has them.
    ///
    /// This function never starts an agent.
    static func names(at endpoint: AgentEndpoint) -> [String]? {
        var running = endpoint
        running.mayStartAgent = false
        if let sessions = try? running.sessions() { return sessions.compactMap(\.session) }
        let report = try? ConfigurationReport()
        return report?.isGood == true && report?.message.sessions == 0 ? [] : nil
    }

    /// Returns the error for `command` without a session name; `names` are the possible names, if known.
    static func missingName(in command: String, _ names: [String]?) -> AgentError {
        // The command that creates the first session also needs a name.
        guard names?.isEmpty != true || command == "add" else {
            return AgentError(.badRequest, noneMessage, remedy: remedy)
        }
        let known = names ?? []
        let list =
            (1...maximumNames).contains(known.count)
            ? " (configured: \(known.joined(separator: ", ")))" : ""
        return AgentError(
            .badRequest,
            "missing session name\(list)",
            remedy: .run("tokenctl \(command) NAME")
        )
    }
}
