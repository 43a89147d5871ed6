// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// A directory that was created for a file and is removed when it becomes empty.
///
/// The sticky bit distinguishes it from a directory that a user created: if only the owner may write, the bit
/// has no other effect.
enum OwnDirectory {
    private static let mode: mode_t = 0o1700

    /// Creates the missing directories of `path`, with access only for this user.
    static func make(_ path: String) throws(AgentError) {
        var status = stat()
        if unsafe stat(path, &status) == 0 { return }
        try make(EditedFile.directory(of: path))
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
            throw EditedFile.refusal(path, systemMessage(errno))
        }
    }

    /// Removes `path` and its parents, up to the first that was not created here or is not empty.
    static func remove(_ path: String) {
        var path = path
        while isOwn(path), unsafe rmdir(path) == 0 { path = EditedFile.directory(of: path) }
    }

    private static func isOwn(_ path: String) -> Bool {
        var status = stat()
        // A directory inherits the set-group-ID bit from its parent.
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid() && status.st_mode & 0o5777 == mode
    }
}
