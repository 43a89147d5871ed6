// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// The sessions among which a person chooses, and the way to the first one.
enum ConfiguredSessions {
    /// The command that creates a session.
    static let remedy = "tokenctl add NAME"
    private static let noneMessage = "no sessions configured"
    /// The most names that a message lists.
    private static let maximumNames = 8

    /// The lines that say that there are none.
    static let none = [noneMessage, "  Run: \(remedy)"]
    static let noneInOneLine = "\(noneMessage); run: \(remedy)"

    /// The names, or `nil` if neither a running agent nor the configuration tells them.
    ///
    /// No agent is started for this.
    static func names(at endpoint: AgentEndpoint) -> [String]? {
        var running = endpoint
        running.mayStartAgent = false
        if let sessions = try? running.sessions() { return sessions.compactMap(\.session) }
        let report = try? ConfigurationReport()
        return report?.isGood == true && report?.message.sessions == 0 ? [] : nil
    }

    /// The failure of `command` that was given no name; `names` are those to choose from, if they are known.
    static func missingName(in command: String, _ names: [String]?) -> AgentError {
        // To make the first session a name is needed too.
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
            remedy: "usage: tokenctl \(command) [options] NAME"
        )
    }
}
