// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// A file that a person may have written, to be changed in few places.
///
/// It is read whole and replaced in one step, with its mode. A link stays one: the file it leads to is replaced.
/// A file that is made here has the sticky bit, as an ``OwnDirectory`` has, and goes when nothing is left in it.
struct EditedFile {
    /// More than any configuration a person wrote.
    private static let largest = 1 << 20

    /// As the person knows it.
    let path: String
    /// What the file holds; nil if there is none.
    let text: String?
    /// The path without links.
    private let target: String
    private let isLink: Bool
    private let mode: mode_t

    /// Reads `path`.
    ///
    /// - Throws: ``AgentError`` if what is there is no text file of this user, or too long.
    init(_ path: String) throws(AgentError) {
        self.path = path
        guard let resolved = unsafe realpath(path, nil) else {
            let reason = errno
            var status = stat()
            guard reason == ENOENT else { throw EditedFile.refusal(path, systemMessage(reason)) }
            guard unsafe lstat(path, &status) != 0 else {
                throw EditedFile.obstacle(path, "it is a link to nothing")
            }
            target = path
            isLink = false
            text = nil
            mode = 0o600 | S_ISVTX
            return
        }
        defer { unsafe free(resolved) }
        target = unsafe String(cString: resolved)
        var status = stat()
        isLink = unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
        let found = try EditedFile.contents(of: target, named: path)
        text = found.text
        mode = found.mode
    }

    /// Whether the file was made here, or there is none yet.
    var isOwn: Bool { mode & S_ISVTX != 0 }

    /// Notes that another program made the file at `path` for a change that was made here.
    static func noteAsOwn(_ path: String) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        _ = unsafe chmod(path, status.st_mode & 0o7777 | S_ISVTX)
    }

    private static func contents(
        of target: String,
        named path: String
    ) throws(AgentError) -> (text: String, mode: mode_t) {
        let file = unsafe open(target, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw refusal(path, systemMessage(errno)) }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw refusal(path, systemMessage(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw obstacle(path, "it is not a regular file") }
        guard status.st_uid == geteuid() else { throw obstacle(path, "it belongs to another user") }
        guard status.st_size <= largest else { throw obstacle(path, "it has more than \(largest) bytes") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(file, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { break }
            count += got
        }
        guard let text = String(validating: bytes[..<count], as: UTF8.self) else {
            throw obstacle(path, "it is not UTF-8")
        }
        return (text, status.st_mode & 0o7777)
    }

    /// Replaces the file; one that was made here and becomes empty is removed, with the directories that were made for it.
    ///
    /// What a link leads to is a person's, and stays there without anything in it.
    ///
    /// - Throws: ``AgentError`` if it was changed since it was read, or cannot be written; it is as it was then.
    func replace(with new: String) throws(AgentError) {
        let directory = EditedFile.directory(of: target)
        try OwnDirectory.make(directory)
        guard try EditedFile(path).text == text else {
            throw EditedFile.refusal(path, "it was changed just now")
        }
        guard !new.isEmpty || isLink || !isOwn else {
            guard unsafe unlink(target) == 0 || errno == ENOENT else {
                throw EditedFile.refusal(path, systemMessage(errno))
            }
            OwnDirectory.remove(directory)
            return
        }
        let draft = "\(target).tokenctl-\(getpid())"
        let file = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw EditedFile.refusal(path, systemMessage(errno)) }
        var reason = unsafe Array(new.utf8).withUnsafeBytes { unsafe writeAll($0, to: file) }
        if reason == 0, fchmod(file, mode) != 0 || fsync(file) != 0 { reason = errno }
        close(file)
        if reason == 0, unsafe rename(draft, target) != 0 { reason = errno }
        guard reason == 0 else {
            unsafe unlink(draft)
            OwnDirectory.remove(directory)
            throw EditedFile.refusal(path, systemMessage(reason))
        }
    }

    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// A person has something else there.
    private static func obstacle(_ path: String, _ reason: String) -> AgentError {
        AgentError(.badRequest, "\(path) is in the way: \(reason)", remedy: "put it right, or use --file")
    }

    static func refusal(_ path: String, _ reason: String) -> AgentError {
        AgentError(.internal, "\(path) cannot be changed: \(reason)")
    }
}
