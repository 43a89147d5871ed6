// SPDX-License-Identifier: MIT

import Glibc

/// A log on disk of limited size: the file itself, and an older one with `.1` added to its name.
///
/// It is used by one thread at a time, and may block that thread.
package struct AuditFile: Sendable {
    /// The size in bytes at which a new file is begun: enough for about 30,000 lines.
    static let maximumSize = 4 << 20

    let path: String
    let limit: Int

    package init(path: String, limit: Int? = nil) {
        self.path = path
        self.limit = limit ?? AuditFile.maximumSize
    }

    private var olderPath: String { path + ".1" }

    /// Appends whole lines, all or none.
    ///
    /// The file is renamed first if the lines would make it too large. Nothing waits for the disk: the log
    /// survives a crash of the agent, but a power cut may lose the last seconds.
    ///
    /// - Returns: Whether the lines are in the file.
    package func append(_ lines: [UInt8]) -> Bool {
        guard var file = open() else { return false }
        defer { close(file.descriptor) }
        if file.size > 0, file.size + lines.count > limit {
            // A reader may still have the renamed file open; every line is in one of the two files.
            guard unsafe rename(path, olderPath) == 0 else { return false }
            close(file.descriptor)
            guard let new = open() else {
                file.descriptor = -1
                return false
            }
            file = new
        }
        guard write(lines, to: file.descriptor) else {
            // A partial line would make the next line unreadable too.
            _ = ftruncate(file.descriptor, off_t(file.size))
            return false
        }
        return true
    }

    /// Returns the lines of the next read, and moves `position` past them; empty at the end of the log.
    ///
    /// No file stays open between two calls. If the current file is gone by then, the next call begins with
    /// the oldest available line.
    func piece(after position: inout AuditPosition) -> [UInt8] {
        for path in [olderPath, path] {
            let descriptor = unsafe Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard let status = ownFile(descriptor) else { continue }
            let identity = AuditPosition.Identity(device: status.st_dev, inode: status.st_ino)
            if position.done.contains(identity) { continue }
            if position.current != identity {
                position.current = identity
                position.offset = 0
            }
            let lines = wholeLines(of: descriptor, at: &position.offset)
            if !lines.isEmpty { return lines }
            // The older file does not grow any more.
            if path == olderPath { position.done.insert(identity) }
        }
        return []
    }

    /// Opens the file for appending with mode 0600, or returns `nil` if the path does not lead to a file of
    /// this user.
    private func open() -> (descriptor: CInt, size: Int)? {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let descriptor = unsafe Glibc.open(path, flags, 0o600)
        guard descriptor >= 0 else { return nil }
        guard let status = ownFile(descriptor),
            status.st_mode & 0o7777 == 0o600 || fchmod(descriptor, 0o600) == 0
        else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int(status.st_size))
    }

    /// Returns the status of a regular file of this user with a single link, or `nil` for any other file.
    private func ownFile(_ descriptor: CInt) -> stat? {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_nlink == 1
        else { return nil }
        return status
    }

    private func write(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(
                    descriptor,
                    buffer.baseAddress?.advanced(by: written),
                    bytes.count - written
                )
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }

    /// Returns whole lines from `offset` on, at most ``AuditPosition/piece`` bytes.
    ///
    /// A longer line cannot be the agent's and is skipped.
    private func wholeLines(of descriptor: CInt, at offset: inout Int) -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: AuditPosition.piece)
        var (next, isInLine) = (offset, false)
        // A file that somebody has enlarged is not read to its end.
        while next <= 4 * limit {
            var count = 0
            repeat {
                count = unsafe pread(descriptor, &piece, piece.count, off_t(next))
            } while count < 0 && errno == EINTR
            guard count > 0 else { return [] }
            if let end = piece[..<count].lastIndex(of: .lineFeed) {
                let start = isInLine ? (piece.firstIndex(of: .lineFeed) ?? end) + 1 : 0
                (next, isInLine) = (next + end + 1, false)
                offset = next
                if start <= end { return Array(piece[start...end]) }
            } else {
                guard count == piece.count else { return [] }
                (next, isInLine) = (next + count, true)
            }
        }
        return []
    }
}

/// The position of a reader in the audit log.
struct AuditPosition: Sendable {
    struct Identity: Hashable, Sendable {
        var device: dev_t
        var inode: ino_t
    }

    /// The maximum number of bytes read into memory at once, for each reader.
    static let piece = 65_536

    /// The file of the last read.
    fileprivate var current: Identity?
    fileprivate var offset = 0
    /// The files that have been read to their end and no longer grow.
    fileprivate var done: Set<Identity> = []
}
