// SPDX-License-Identifier: MIT

import Glibc

/// A log on disk that stays small: a file, and one with `.1` added to its name for the older lines.
///
/// Used by one thread at a time, which may block.
package struct AuditFile: Sendable {
    /// Bytes at which a new file is begun: room for about 30,000 lines.
    static let largestSize = 4 << 20

    let path: String
    let limit: Int

    package init(path: String, limit: Int? = nil) {
        self.path = path
        self.limit = limit ?? AuditFile.largestSize
    }

    private var olderPath: String { path + ".1" }

    /// Appends whole lines, all or none.
    ///
    /// The file is put aside first when the lines would make it too large. Nothing here waits for the disk: the log
    /// survives a crash of the agent, and a power cut but for the last seconds.
    /// - Returns: whether they are in the file.
    package func append(_ lines: [UInt8]) -> Bool {
        guard var file = open() else { return false }
        defer { close(file.descriptor) }
        if file.size > 0, file.size + lines.count > limit {
            // A reader may still have the old file open; every line is in one of the two files.
            guard unsafe rename(path, olderPath) == 0 else { return false }
            close(file.descriptor)
            guard let new = open() else {
                file.descriptor = -1
                return false
            }
            file = new
        }
        guard write(lines, to: file.descriptor) else {
            // Half a line would spoil the next one too.
            _ = ftruncate(file.descriptor, off_t(file.size))
            return false
        }
        return true
    }

    /// Moves `position` past the lines that one read brings, and returns these; empty at the end.
    ///
    /// Nothing stays open between two pieces. If the file that was being read is gone by then, the next piece
    /// begins with the oldest line there is.
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

    /// Opens the file for appending, closed to other users; `nil` if what is at the path is not ours.
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

    /// The status of a regular file of ours with one name; `nil` if it is something else.
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

    /// Whole lines from `offset` on, at most ``AuditPosition/piece`` bytes; a longer line, which is not ours, is
    /// left out.
    private func wholeLines(of descriptor: CInt, at offset: inout Int) -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: AuditPosition.piece)
        var (next, isInLine) = (offset, false)
        // A file that somebody has made huge is not read to its end.
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

/// How far a reader of the audit log has come.
struct AuditPosition: Sendable {
    struct Identity: Hashable, Sendable {
        var device: dev_t
        var inode: ino_t
    }

    /// Most bytes of the log that are in memory for one reader.
    static let piece = 65_536

    /// The file that was read last.
    fileprivate var current: Identity?
    fileprivate var offset = 0
    /// Files that have been read to their end and do not grow.
    fileprivate var done: Set<Identity> = []
}
