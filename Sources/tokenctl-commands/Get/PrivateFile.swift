// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// A file for this user alone, in a directory that nobody else can enter.
enum PrivateFile {
    /// Puts `text` there; a reader sees the old one or the new one, whole.
    ///
    /// - Parameters:
    ///   - path: of the file.
    ///   - draft: where it is written first, beside it; what is there is removed.
    ///   - text: what it holds from then on.
    /// - Throws: ``AgentError``; the old one is there then.
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
