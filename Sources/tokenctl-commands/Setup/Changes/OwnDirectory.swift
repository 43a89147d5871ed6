// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// A directory that was missing where something has to be written, and goes again with the last of what is in it.
///
/// The sticky bit tells it from one that a person made: where nobody but its owner may write, the bit means nothing else.
enum OwnDirectory {
    private static let mode: mode_t = 0o1700

    /// Makes the directories of `path` that are missing, for this user alone.
    static func make(_ path: String) throws(AgentError) {
        var status = stat()
        if unsafe stat(path, &status) == 0 { return }
        try make(EditedFile.directory(of: path))
        guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else {
            throw EditedFile.refusal(path, systemMessage(errno))
        }
    }

    /// Removes `path` and the directories above it, up to the first that was not made here or is not empty.
    static func remove(_ path: String) {
        var path = path
        while isOwn(path), unsafe rmdir(path) == 0 { path = EditedFile.directory(of: path) }
    }

    private static func isOwn(_ path: String) -> Bool {
        var status = stat()
        // A directory has the group's bit if the one above it has.
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_uid == geteuid() && status.st_mode & 0o5777 == mode
    }
}
