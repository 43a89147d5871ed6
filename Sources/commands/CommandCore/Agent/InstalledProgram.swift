// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The programs that were built or installed together with this one.
package enum InstalledProgram {
    private static let helpers = "/libexec/tokenagent"

    /// Returns the absolute path of `name`, or `nil` if it is not installed with this program.
    ///
    /// A build has all programs in one directory. Installed programs for users are in `bin`, and those that
    /// other programs start are in `libexec/tokenagent` next to it.
    package static func path(_ name: String) -> String? {
        directories.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }

    private static var directories: [String] {
        guard let own = ownDirectory else { return [] }
        let other = own.hasSuffix(helpers) ? own.dropLast(helpers.utf8.count) + "/bin" : own + "/.." + helpers
        return [own, String(other)]
    }

    private static var ownDirectory: String? {
        // Without /proc, use the path by which this process was executed.
        guard let path = unsafe realpath("/proc/self/exe", nil) ?? realpath(hardening_executed_path(), nil)
        else { return nil }
        defer { unsafe free(path) }
        let text = unsafe String(cString: path)
        return text.lastIndex(of: "/").map { String(text[..<$0]) }
    }
}
