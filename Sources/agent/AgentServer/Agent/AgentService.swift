// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// The systemd unit that this agent runs as, if any, and the restart that fits it.
///
/// An agent that is started next to its unit has another store, or none of the unit's credentials.
struct AgentService {
    /// The service that this process is.
    static let current = AgentService(
        controlGroups: text(of: "/proc/self/cgroup"),
        process: getpid(),
        hasSystemd: unsafe access("/run/systemd/system", F_OK) == 0,
        environment: AgentPaths.variable
    )

    /// The unit whose main process this agent is, or `nil` if it is none.
    private let unit: SystemdUnit?
    private let hasSystemd: Bool

    /// Determines the service from the control groups, the variables of a service manager (sd_notify(3),
    /// sd_listen_fds(3), systemd.exec(5)) and sd_booted(3).
    ///
    /// The control group alone is not sufficient: an agent that a job of cron has started is in `cron.service`.
    init(
        controlGroups: String,
        process: pid_t,
        hasSystemd: Bool,
        environment: (String) -> String?
    ) {
        self.hasSystemd = hasSystemd
        let isMainProcess =
            environment("NOTIFY_SOCKET") != nil || environment("LISTEN_PID") == "\(process)"
            || environment("SYSTEMD_EXEC_PID") == "\(process)"
        unit = isMainProcess ? SystemdUnit(inGroups: controlGroups) : nil
    }

    /// Returns `remedy` with the restart that fits this service in place of that of any agent.
    func adapted(_ remedy: Remedy) -> Remedy {
        let (change, command) = remedy.steps
        guard let written = command ?? (remedy.kind == .run ? remedy.text : nil),
            let restart = AgentService.restarts[written]
        else { return remedy }
        guard let unit else {
            return restart == .bySystemd && !hasSystemd
                ? .retry("on a system where systemd starts the agent") : remedy
        }
        return command == nil ? .run(unit.restart) : change.followed(by: unit.restart)
    }

    private enum Restart {
        case byAnyone
        case bySystemd
    }

    /// The commands of remedies that restart an agent of which nothing is known.
    private static let restarts: [String: Restart] = [
        "tokenctl shutdown && tokenagent": .byAnyone,
        "tokenctl shutdown && systemctl --user start tokenagent": .bySystemd,
    ]

    private static func text(of path: String) -> String {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = unsafe read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

extension WireMessage where Members: RemedyMembers {
    /// Sets the advice, with the command that restarts this agent.
    mutating func advise(_ remedy: Remedy?) {
        self.remedy = remedy.map(AgentService.current.adapted)
    }
}
