// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The program that started this process, if this is `tokenctl` or a program that it becomes.
///
/// The agent writes it into the audit log as what it is, a claim: `tokenctl` may have ended before anybody could look which
/// program had started it.
enum ClaimedCaller {
    private static let clients = ["/tokenctl", "/tokenctl-commands", "/tokenagent-mcp"]
    /// Bytes of the longest path that is named.
    private static let limit = 1_024

    /// Its path; `nil` in other programs, or where the kernel does not show it.
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
