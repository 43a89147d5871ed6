// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// A file that a user may have written, for changes in a few places.
///
/// The file is read as a whole and replaced atomically, with its mode and group. A link is kept: the file it
/// leads to is replaced. A file created here has the sticky bit, like an ``OwnDirectory``, and is removed
/// when it becomes empty.
struct EditedFile {
    /// The maximum size in bytes, more than any configuration written by hand.
    private static let largest = 1 << 20
    /// The byte order mark with which some editors begin a text; text inserted first follows it.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The path as the user knows it.
    let path: String
    /// The text without a byte order mark, or `nil` if the file does not exist.
    let text: String?
    private let hasByteOrderMark: Bool
    /// The path with links resolved.
    private let target: String
    private let isLink: Bool
    /// The status of the file when it was read.
    private let status: stat?

    /// Reads `path`.
    ///
    /// - Throws: ``AgentError`` if the file is not a text file of this user, or is too large.
    init(_ path: String) throws(AgentError) {
        self.path = path
        guard let resolved = unsafe realpath(path, nil) else {
            let reason = errno
            var status = stat()
            guard reason == ENOENT else { throw EditedFile.refusal(path, systemMessage(reason)) }
            guard unsafe lstat(path, &status) != 0 else {
                throw EditedFile.conflictError(path, "it is a link to a missing file")
            }
            target = path
            isLink = false
            text = nil
            hasByteOrderMark = false
            self.status = nil
            return
        }
        defer { unsafe free(resolved) }
        target = unsafe String(cString: resolved)
        var status = stat()
        isLink = unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
        let found = try EditedFile.contents(of: target, named: path)
        hasByteOrderMark = found.bytes.starts(with: EditedFile.byteOrderMark)
        let bytes = found.bytes.dropFirst(hasByteOrderMark ? EditedFile.byteOrderMark.count : 0)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw EditedFile.conflictError(path, "it is not UTF-8")
        }
        self.text = text
        self.status = found.status
    }

    /// Whether the file was created here, or does not exist.
    var isOwn: Bool { status.map { $0.st_mode & S_ISVTX != 0 } ?? true }

    /// Marks the file at `path`, which another program created for a change made here.
    static func markCreatedBySetup(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        _ = unsafe chmod(path, status.st_mode & 0o7777 | S_ISVTX)
    }

    private static func contents(
        of target: String,
        named path: String
    ) throws(AgentError) -> (bytes: [UInt8], status: stat) {
        let file = unsafe open(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw refusal(path, systemMessage(errno)) }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw refusal(path, systemMessage(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw conflictError(path, "it is not a regular file")
        }
        guard status.st_uid == geteuid() else { throw conflictError(path, "it belongs to another user") }
        return (try all(of: file, named: path), status)
    }

    /// Reads `file` to its end, because any part that is not read would be lost when the file is replaced.
    private static func all(of file: Int32, named path: String) throws(AgentError) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= largest {
            let count = unsafe part.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw refusal(path, systemMessage(errno)) }
            if count == 0 { return bytes }
            bytes += part[..<count]
        }
        throw conflictError(path, "it has more than \(largest) bytes")
    }

    /// Replaces the file; if it was created here and becomes empty, it is removed with the directories
    /// created for it.
    ///
    /// During this, a file with the suffix `.lock` exists, which git and kubectl respect too. So neither they
    /// nor a second run of this command overwrite each other's changes.
    ///
    /// - Returns: A function that restores the old text, or removes the file if there was none.
    /// - Throws: ``AgentError`` if the file was changed since it was read, or cannot be written. The file
    ///   is then unchanged.
    @discardableResult
    func replace(with new: String) throws(AgentError) -> Restoring {
        if let status, status.st_mode & S_IWUSR == 0 {
            throw EditedFile.conflictError(path, "it is read-only")
        }
        let directory = EditedFile.directory(of: target)
        try OwnDirectory.make(directory)
        defer { OwnDirectory.remove(directory) }
        let draft = target + ".lock"
        let file = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw EditedFile.refusal(path, draft: draft, errno) }
        defer { close(file) }
        do throws(AgentError) {
            try commit(new, by: draft, file)
        } catch {
            unsafe unlink(draft)
            throw error
        }
        return { [path, text] () throws(AgentError) in
            let present = try EditedFile(path)
            guard (present.text ?? "").bytewise == new.bytewise else {
                throw EditedFile.refusal(path, "it was changed just now")
            }
            try present.replace(with: text ?? "")
        }
    }

    /// Replaces the file by `draft`, which is open as `file`, or removes both.
    private func commit(_ new: String, by draft: String, _ file: Int32) throws(AgentError) {
        guard try EditedFile(path).text?.bytewise == text?.bytewise else {
            throw EditedFile.refusal(path, "it was changed just now")
        }
        // The target of a link belongs to the user.
        guard !new.isEmpty || isLink || !isOwn else {
            guard unsafe unlink(target) == 0 || errno == ENOENT, unsafe unlink(draft) == 0 else {
                throw EditedFile.refusal(path, systemMessage(errno))
            }
            return
        }
        let bytes = (hasByteOrderMark ? EditedFile.byteOrderMark : []) + Array(new.utf8)
        var reason = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: file) }
        if reason == 0, !giveAttributes(to: file) || fsync(file) != 0 { reason = errno }
        if reason == 0, unsafe rename(draft, target) != 0 { reason = errno }
        guard reason == 0 else { throw EditedFile.refusal(path, systemMessage(reason)) }
    }

    /// Sets the group and mode of the replaced file on its replacement.
    private func giveAttributes(to file: Int32) -> Bool {
        guard let status else {
            // If the file system does not store the sticky bit, the file belongs to the user from now on.
            _ = fchmod(file, 0o600 | S_ISVTX)
            return true
        }
        // Members of another group must not get access to the contents.
        let isSameGroup = fchown(file, uid_t.max, status.st_gid) == 0
        return fchmod(file, status.st_mode & (isSameGroup ? 0o7777 : 0o7707)) == 0
    }

    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Returns the error for a file that the user has written and that cannot be changed.
    static func conflictError(_ path: String, _ reason: String) -> AgentError {
        AgentError(
            .badRequest,
            "cannot change \(path): \(reason)",
            remedy: .retry("after correcting the file")
        )
    }

    /// Returns the error if `draft`, the replacement of `path`, cannot be created; `reason` is the error
    /// number.
    static func refusal(_ path: String, draft: String, _ reason: Int32) -> AgentError {
        guard reason == EEXIST else { return refusal(path, systemMessage(reason)) }
        return AgentError(
            .internal,
            "cannot change \(path): the lock file \(draft) exists",
            remedy: .retry("after removing the lock file, if no program is using it")
        )
    }

    static func refusal(_ path: String, _ reason: String) -> AgentError {
        AgentError(.internal, "cannot change \(path): \(reason)")
    }
}
