// SPDX-License-Identifier: MIT

import Text

/// The lookup of a process's systemd unit by its control group.
enum SystemdUnit {
    /// Returns the innermost service or scope in the text of `/proc/PID/cgroup` (cgroups(7)), or `nil`.
    ///
    /// The unified hierarchy has the line `0::PATH`. Before it, systemd's own hierarchy had the line
    /// `N:name=systemd:PATH`.
    static func name(inGroups text: String) -> String? {
        let lines = text.split(separator: "\n")
        let line =
            lines.first { $0.hasPrefix("0::") && $0 != "0::/" }
            ?? lines.first { $0.bytewise.contains(":name=systemd:") }
        guard let path = line?.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).last
        else {
            return nil
        }
        return path.split(separator: "/").last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }.map(
            String.init
        )
    }
}
