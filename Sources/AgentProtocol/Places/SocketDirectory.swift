// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The directory of a socket, which is rejected if another user could change it.
package enum SocketDirectory {
    /// The remedy for a socket that the user has named in a directory that is rejected.
    package static let remedy = Remedy.set("TOKENAGENT_SOCK to a path in a directory that only you can enter")

    /// An error that prevents a socket in the directory.
    package enum DirectoryError: Error, Equatable, Sendable, CustomStringConvertible {
        /// Another user could change the directory `path`, for `reason`.
        case unsafe(path: String, reason: String)
        /// The system call for `operation` failed with the error `number` (errno(3)).
        case system(operation: String, path: String, number: CInt)

        package var description: String {
            switch self {
            case .unsafe(let path, let reason): "\(path): \(reason)"
            case .system(let operation, let path, let number):
                "cannot \(operation) \(path): \(systemMessage(number))"
            }
        }
    }

    /// Makes sure that `path` is a directory of this user with mode 0700, or one that only this user can
    /// write to.
    ///
    /// The latter is sufficient with `isOpenToOthers`. Missing directories are created with `mode` regardless
    /// of the umask. The directory itself must not be a symbolic link. Those above it are resolved, and each
    /// must belong to this user or to root and be writable for no other user (or be sticky, as `/tmp` is).
    /// Nothing is created below a directory that is rejected.
    ///
    /// - Throws: ``DirectoryError``.
    package static func prepare(
        _ path: String,
        isOpenToOthers: Bool = false,
        mode: mode_t = 0o700
    ) throws(DirectoryError) {
        try checkParents(of: path)
        try create(path, mode)
        // Below a sticky directory another user may have created what was missing.
        try check(path, isOpenToOthers: isOpenToOthers)
    }

    /// Checks an existing directory as ``prepare(_:isOpenToOthers:mode:)`` does, without creating anything.
    ///
    /// - Throws: ``DirectoryError``.
    package static func check(_ path: String, isOpenToOthers: Bool = false) throws(DirectoryError) {
        try checkParents(of: path)
        let status = try status(of: path)
        guard status.st_mode & S_IFMT == S_IFDIR else {
            let what = status.st_mode & S_IFMT == S_IFLNK ? "a symbolic link" : "not a directory"
            throw .unsafe(path: path, reason: "it is \(what)")
        }
        guard status.st_uid == geteuid() else {
            throw .unsafe(path: path, reason: "it belongs to user \(status.st_uid)")
        }
        let mode = String(status.st_mode & 0o777, radix: 8)
        if isOpenToOthers {
            guard status.st_mode & 0o022 == 0 else {
                throw .unsafe(path: path, reason: "its mode is \(mode): others may write to it")
            }
        } else if status.st_mode & 0o077 != 0 {
            throw .unsafe(path: path, reason: "its mode is \(mode), not 700")
        }
    }

    /// Returns the directory nearest to the root that only its owner can pass on the way to `path`, or `nil`
    /// if there is none.
    package static func closedDirectory(above path: String) -> String? {
        var closed: String?
        var current = parent(of: path)
        while true {
            if let status = try? status(of: current), status.st_mode & 0o011 == 0 { closed = current }
            guard current != "/", current != "." else { return closed }
            current = parent(of: current)
        }
    }

    private static func create(_ path: String, _ mode: mode_t) throws(DirectoryError) {
        if try make(path, mode) { return }
        let parent = parent(of: path)
        guard parent != path else { throw failure("make", path) }
        try create(parent, mode)
        guard try make(path, mode) else { throw failure("make", path) }
    }

    /// Creates one directory unless it exists.
    ///
    /// - Returns: `false` if its parent is missing.
    private static func make(_ path: String, _ mode: mode_t) throws(DirectoryError) -> Bool {
        guard unsafe mkdir(path, mode) != 0 else {
            // The umask may have removed bits. A sandboxed agent cannot change modes, and has nothing to
            // change.
            guard try status(of: path).st_mode & 0o777 != mode else { return true }
            guard unsafe chmod(path, mode) == 0 else { throw failure("make", path) }
            return true
        }
        switch errno {
        case EEXIST: return true
        case ENOENT: return false
        default: throw failure("make", path)
        }
    }

    /// Checks that every parent is as trustworthy as the directory: anyone who can rename a parent can
    /// replace it.
    private static func checkParents(of path: String) throws(DirectoryError) {
        var current = try existingParent(of: path)
        while true {
            let status = try status(of: current)
            guard status.st_uid == geteuid() || status.st_uid == 0 else {
                throw .unsafe(path: current, reason: "it belongs to user \(status.st_uid)")
            }
            guard status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0 else {
                throw .unsafe(path: current, reason: "others may write to it")
            }
            guard current != "/" else { return }
            current = parent(of: current)
        }
    }

    /// Returns the nearest existing directory above `path`, without symbolic links.
    private static func existingParent(of path: String) throws(DirectoryError) -> String {
        let above = parent(of: path)
        if let resolved = unsafe realpath(above, nil) {
            defer { unsafe free(resolved) }
            return unsafe String(cString: resolved)
        }
        guard errno == ENOENT, above != parent(of: above) else { throw failure("resolve", path) }
        return try existingParent(of: above)
    }

    private static func status(of path: String) throws(DirectoryError) -> stat {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw failure("examine", path) }
        return status
    }

    /// Returns the directory that contains `path`.
    package static func parent(of path: String) -> String {
        // Byte by byte, as the kernel does: a combining mark after a slash makes another character of it.
        let slash = UInt8(ascii: "/")
        var trimmed = path.utf8[...]
        while trimmed.count > 1, trimmed.last == slash { trimmed.removeLast() }
        guard let end = trimmed.lastIndex(of: slash) else { return "." }
        return end == trimmed.startIndex ? "/" : String(Substring(trimmed[..<end]))
    }

    private static func failure(_ operation: String, _ path: String) -> DirectoryError {
        .system(operation: operation, path: path, number: errno)
    }
}
