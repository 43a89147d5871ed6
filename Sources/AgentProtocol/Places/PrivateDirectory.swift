// SPDX-License-Identifier: MIT

import Glibc

/// A directory that only its owner can enter.
public enum PrivateDirectory {
    /// Creates `path` and its parents with mode 0700 if they are missing, then checks it.
    ///
    /// - Parameter path: An absolute path.
    /// - Throws: ``AgentError`` with the code `misconfigured` if the directory belongs to another user, is
    ///   open to others, is a symbolic link or not a directory; with `internal` if the system cannot create
    ///   it.
    public static func prepare(_ path: String) throws(AgentError) {
        try createParents(of: path)
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw AgentError(.internal, "cannot create \(path): \(systemMessage(errno))")
        }
        try check(path)
    }

    /// Checks that `path` is a directory of this user that no other user can enter.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured`, the cause, and the command that corrects it.
    public static func check(_ path: String) throws(AgentError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            throw AgentError(.misconfigured, "\(path): \(systemMessage(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw AgentError(.misconfigured, "\(path) is not a directory")
        }
        guard status.st_uid == geteuid() else {
            throw AgentError(.misconfigured, "\(path) belongs to another user (uid \(status.st_uid))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw AgentError(
                .misconfigured,
                "\(path) is open to other users",
                remedy: .run("chmod 700 \(path)")
            )
        }
    }

    /// Returns whether two paths lead to the same directory.
    package static func isSame(_ path: String, _ other: String) -> Bool {
        guard path != other else { return true }
        var (one, two) = (stat(), stat())
        guard unsafe lstat(path, &one) == 0, unsafe lstat(other, &two) == 0 else { return false }
        return one.st_dev == two.st_dev && one.st_ino == two.st_ino
    }

    private static func createParents(of path: String) throws(AgentError) {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
        let parent = String(path[..<slash])
        var status = stat()
        if unsafe stat(parent, &status) == 0 { return }
        try createParents(of: parent)
        guard unsafe mkdir(parent, 0o700) == 0 || errno == EEXIST else {
            throw AgentError(.internal, "cannot create \(parent): \(systemMessage(errno))")
        }
    }
}
