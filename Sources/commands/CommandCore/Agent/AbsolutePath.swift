// SPDX-License-Identifier: MIT

import Glibc

/// Paths that another process can open.
package enum AbsolutePath {
    /// Makes `path` absolute.
    ///
    /// - Returns: The absolute path, or `nil` if `path` is relative and the working directory is unknown.
    package static func from(_ path: String) -> String? {
        guard !path.hasPrefix("/") else { return path }
        guard let directory = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(directory) }
        return unsafe String(cString: directory) + "/" + path
    }

    /// Makes `path` absolute, or returns it as it is if the working directory is unknown.
    package static func orGiven(_ path: String) -> String { from(path) ?? path }
}
