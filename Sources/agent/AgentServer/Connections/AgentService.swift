// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// The restart of this agent, which depends on the unit of systemd that it runs as, if any.
///
/// Messages name the commands that restart an agent of which nothing is known. Where they leave the agent, in its
/// responses and in its log, they name the command of its unit instead: an agent that is started next to its unit has
/// another store, or none of the unit's credentials.
package struct AgentService: Equatable, Sendable {
    /// The start of the commands that restart any agent, and their ends.
    private static let general = (
        start: Array("tokenctl shutdown ".utf8),
        ends: ["&& tokenagent", "&& systemctl --user start tokenagent"].map { Array($0.utf8) }
    )

    /// The command that restarts the unit whose main process this agent is, or `nil` if it is none.
    package let restart: String?

    /// Creates the service of an agent that is no unit.
    package init() {
        restart = nil
    }

    /// Determines the service from the unit of the process's control group and the variables of a service manager
    /// (sd_notify(3), sd_listen_fds(3), systemd.exec(5)).
    ///
    /// The unit alone is not sufficient: an agent that a job of cron has started is in `cron.service`.
    package init(unit: SystemdUnit?, process: pid_t, environment: [String: String]) {
        let isMainProcess =
            environment["NOTIFY_SOCKET"] != nil || environment["LISTEN_PID"] == "\(process)"
            || environment["SYSTEMD_EXEC_PID"] == "\(process)"
        restart = isMainProcess ? unit?.restart : nil
    }

    /// Returns `text` with the command that restarts this agent in place of those that restart any.
    package func adapted(_ text: String) -> String {
        guard let restart else { return text }
        return String(decoding: AgentService.adapted(Array(text.utf8), to: restart.utf8), as: UTF8.self)
    }

    /// Returns the JSON text `json` with the command that restarts this agent in place of those that restart any.
    func adapted(json: [UInt8]) -> [UInt8] {
        guard let restart else { return json }
        return AgentService.adapted(json, to: JSONValue.string(restart).text.utf8.dropFirst().dropLast())
    }

    private static func adapted(_ text: [UInt8], to command: some Collection<UInt8>) -> [UInt8] {
        var adapted: [UInt8] = []
        var rest = text[...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "&")) {
            let (before, after) = (rest[..<mark], rest[mark...])
            if before.suffix(general.start.count).elementsEqual(general.start),
                let end = general.ends.first(where: { after.starts(with: $0) })
            {
                adapted += before.dropLast(general.start.count) + command
                rest = after.dropFirst(end.count)
            } else {
                adapted += rest[...mark]
                rest = after.dropFirst()
            }
        }
        return adapted + rest
    }
}
