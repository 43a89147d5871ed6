// SPDX-License-Identifier: MIT

import Glibc

/// The directory a socket lives in: refused if anyone else could change it.
package enum SocketDirectory {
    /// Why no socket can be there.
    package enum Fault: Error, Equatable, Sendable {
        /// Somebody else could change the directory `path`, as `reason` says.
        case unsafe(path: String, reason: String)
        /// The system refuses `operation`, for the reason `number` (errno(3)).
        case system(operation: String, path: String, number: CInt)
    }

    /// Makes sure that `path` is a directory of ours with mode 0700; with `isOpenToOthers`, one that nobody
    /// else can write to.
    ///
    /// Missing directories are made with `mode` whatever the umask. The directory itself may not be a symbolic
    /// link; those above it are resolved, and each must belong to us or to root and be writable for nobody else
    /// (or be sticky, as `/tmp` is). Nothing is made below a directory that is refused.
    ///
    /// - Throws: ``Fault``.
    package static func prepare(
        _ path: String,
        isOpenToOthers: Bool = false,
        mode: mode_t = 0o700
    ) throws(Fault) {
        try checkParents(of: path)
        try create(path, mode)
        // Below a sticky directory somebody else may have made what was missing.
        try check(path, isOpenToOthers: isOpenToOthers)
    }

    /// The same for a directory that is there: nothing is made.
    package static func check(_ path: String, isOpenToOthers: Bool = false) throws(Fault) {
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

    /// The directory nearest to the root that nobody but its owner can pass on the way to `path`; nil if there is none.
    package static func closedDirectory(above path: String) -> String? {
        var closed: String?
        var current = parent(of: path)
        while true {
            if let status = try? status(of: current), status.st_mode & 0o011 == 0 { closed = current }
            guard current != "/", current != "." else { return closed }
            current = parent(of: current)
        }
    }

    private static func create(_ path: String, _ mode: mode_t) throws(Fault) {
        if try make(path, mode) { return }
        let parent = parent(of: path)
        guard parent != path else { throw failure("make", path) }
        try create(parent, mode)
        guard try make(path, mode) else { throw failure("make", path) }
    }

    /// Makes one directory unless it is there; `false` when its parent is missing.
    private static func make(_ path: String, _ mode: mode_t) throws(Fault) -> Bool {
        guard unsafe mkdir(path, mode) != 0 else {
            // A umask may have taken bits away; a confined agent changes no modes, and has nothing to change.
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

    /// Everything above must be as trustworthy as the directory: anyone who can rename it can replace it.
    private static func checkParents(of path: String) throws(Fault) {
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

    /// The nearest directory above `path` that exists, without symbolic links.
    private static func existingParent(of path: String) throws(Fault) -> String {
        let above = parent(of: path)
        if let resolved = unsafe realpath(above, nil) {
            defer { unsafe free(resolved) }
            return unsafe String(cString: resolved)
        }
        guard errno == ENOENT, above != parent(of: above) else { throw failure("resolve", path) }
        return try existingParent(of: above)
    }

    private static func status(of path: String) throws(Fault) -> stat {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw failure("examine", path) }
        return status
    }

    /// The directory of what `path` names.
    package static func parent(of path: String) -> String {
        // Byte by byte, as the kernel reads it: a mark that combines with the slash before it makes another character.
        let slash = UInt8(ascii: "/")
        var trimmed = path.utf8[...]
        while trimmed.count > 1, trimmed.last == slash { trimmed.removeLast() }
        guard let end = trimmed.lastIndex(of: slash) else { return "." }
        return end == trimmed.startIndex ? "/" : String(Substring(trimmed[..<end]))
    }

    private static func failure(_ operation: String, _ path: String) -> Fault {
        .system(operation: operation, path: path, number: errno)
    }
}
