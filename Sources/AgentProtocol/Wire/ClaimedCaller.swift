// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The program that started this process, if this process is `tokenctl` or a program that it executes.
///
/// The agent records it in the audit log as a claim: `tokenctl` may end before the agent can look up which
/// program has started it.
enum ClaimedCaller {
    private static let clients = ["/tokenctl", "/tokenctl-commands", "/tokenagent-mcp"]
    /// The maximum length of the path in bytes.
    private static let limit = 1_024

    /// The program's path, or `nil` in other programs or where the kernel does not show it.
    static let path: String? = {
        guard let own = link("/proc/self/exe"), clients.contains(where: own.hasSuffix) else { return nil }
        return link("/proc/\(getppid())/exe")
    }()

    private static func link(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: limit)
        let count = unsafe readlink(path, &target, target.count)
        guard count > 0, count < limit else { return nil }
        return String(validating: target.prefix(count), as: UTF8.self)
    }
}
