// SPDX-License-Identifier: MIT

/// The systemd unit of a process, as its control group shows it.
package struct SystemdUnit: Equatable, Sendable {
    package let name: String
    /// Whether a user's manager runs the unit, and not that of the system.
    package let isOfUser: Bool

    package init(_ name: String, isOfUser: Bool) {
        self.name = name
        self.isOfUser = isOfUser
    }

    /// Reads the innermost service or scope from the text of `/proc/PID/cgroup` (cgroups(7)), or returns `nil`.
    ///
    /// The unified hierarchy has the line `0::PATH`. Before it, systemd's own hierarchy had the line
    /// `N:name=systemd:PATH`.
    package init?(inGroups text: String) {
        let lines = text.split(separator: "\n")
        let line =
            lines.first { $0.hasPrefix("0::") && $0 != "0::/" }
            ?? lines.first { $0.bytewise.contains(":name=systemd:") }
        guard let path = line?.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).last
        else {
            return nil
        }
        let units = path.split(separator: "/").filter { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
        guard let innermost = units.last else { return nil }
        self.init(String(innermost), isOfUser: units.dropLast().contains { $0.hasPrefix("user@") })
    }

    /// Returns whether `process` is the main process of its unit, from the variables that a service manager sets
    /// (sd_notify(3), sd_listen_fds(3), systemd.exec(5)).
    ///
    /// The unit alone is not sufficient: an agent that a job of cron has started is in `cron.service`.
    package static func isMainProcess(_ process: Int32, _ environment: [String: String]) -> Bool {
        environment["NOTIFY_SOCKET"] != nil || environment["LISTEN_PID"] == "\(process)"
            || environment["SYSTEMD_EXEC_PID"] == "\(process)"
    }

    /// The command that restarts the unit, whose name may contain escaped bytes (systemd.unit(5)).
    package var restart: String {
        let short = name.hasSuffix(".service") ? String(name.dropLast(".service".count)) : name
        let word = short.utf8.contains(UInt8(ascii: "\\")) ? ShellWord.quoted(short) : short
        return "systemctl \(isOfUser ? "--user " : "")restart \(word)"
    }
}
