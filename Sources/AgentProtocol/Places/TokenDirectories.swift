// SPDX-License-Identifier: MIT

import Glibc

/// The directories in which programs find their tokens, one for each running `tokenctl exec`.
///
/// Each is locked as long as its process lives. One that is not locked was left behind by a process that was
/// killed; the next start of `tokenctl exec` or of the agent removes it.
package enum TokenDirectories {
    /// The names of the files in such a directory: the token, and the next one while it is written.
    package static let token = "token"
    package static let draft = "new"

    /// The directory that holds them, beside the agent's socket.
    package static func parent(besideSocket socket: String) -> String? {
        socket.lastIndex(of: "/").map { String(socket[..<$0]) + "/exec" }
    }

    /// Removes what killed processes left in `parent`; does nothing unless only this user can enter it.
    package static func removeLeftovers(in parent: String) {
        do throws(AgentError) {
            try PrivateDirectory.check(parent)
        } catch {
            return
        }
        for name in names(in: parent) {
            let path = parent + "/" + name
            let lock = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard lock >= 0 else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 { remove(path) }
            close(lock)
        }
    }

    /// Removes one directory with what is in it.
    package static func remove(_ directory: String) {
        _ = unsafe unlink(directory + "/" + token)
        _ = unsafe unlink(directory + "/" + draft)
        _ = unsafe rmdir(directory)
    }

    private static func names(in parent: String) -> [String] {
        guard let listing = unsafe opendir(parent) else { return [] }
        defer { unsafe closedir(listing) }
        var names: [String] = []
        while let entry = unsafe readdir(listing) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
