// SPDX-License-Identifier: MIT

import Glibc

/// Paths as another process can open them.
package enum AbsolutePath {
    /// `path` from where this process is; nil if it is relative and nobody knows where that is.
    package static func from(_ path: String) -> String? {
        guard !path.hasPrefix("/") else { return path }
        guard let directory = unsafe getcwd(nil, 0) else { return nil }
        defer { unsafe free(directory) }
        return unsafe String(cString: directory) + "/" + path
    }
}
