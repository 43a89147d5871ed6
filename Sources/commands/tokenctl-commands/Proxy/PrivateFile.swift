// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// Files for this user alone, in a directory that no other user can enter.
enum PrivateFile {
    /// Replaces the file atomically: a reader sees the old or the new text, complete.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - draft: The path, in the same file system, at which the text is written first. An existing file
    ///     is removed.
    ///   - text: The new text.
    /// - Throws: ``AgentError`` with the code `internal`. The old file is then unchanged.
    static func replace(_ path: String, from draft: String, with text: String) throws(AgentError) {
        unsafe unlink(draft)
        let file = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(draft, errno) }
        var bytes = Array(text.utf8)
        let error = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: file) }
        bytes.wipe()
        close(file)
        guard error == 0 else { throw failure(draft, error) }
        guard unsafe rename(draft, path) == 0 else { throw failure(path, errno) }
    }

    private static func failure(_ path: String, _ reason: Int32) -> AgentError {
        AgentError(.internal, "\(path): \(systemMessage(reason))")
    }
}
