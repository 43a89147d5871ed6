// SPDX-License-Identifier: MIT

import Text

/// Finds the systemd unit a process runs in by its control group.
enum SystemdUnit {
    /// The innermost service or scope in the text of `/proc/PID/cgroup` (cgroups(7)).
    ///
    /// The unified hierarchy is the line `0::PATH`; before it, systemd's own was `N:name=systemd:PATH`.
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
