// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The programs that were built or installed together with this one.
package enum InstalledProgram {
    private static let helpers = "/libexec/tokenagent"

    /// The absolute path of `name`; nil if it is in none of the places where it would be.
    ///
    /// Builds have all programs in one directory. Installed, people's programs are in `bin`, those that other programs
    /// start in `libexec/tokenagent` beside it.
    package static func path(_ name: String) -> String? {
        directories.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }

    private static var directories: [String] {
        guard let own = ownDirectory else { return [] }
        let other = own.hasSuffix(helpers) ? own.dropLast(helpers.utf8.count) + "/bin" : own + "/.." + helpers
        return [own, String(other)]
    }

    private static var ownDirectory: String? {
        // Without /proc the path it was called by has to do.
        guard let path = unsafe realpath("/proc/self/exe", nil) ?? realpath(hardening_executed_path(), nil)
        else { return nil }
        defer { unsafe free(path) }
        let text = unsafe String(cString: path)
        return text.lastIndex(of: "/").map { String(text[..<$0]) }
    }
}
