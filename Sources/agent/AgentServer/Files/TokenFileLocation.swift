// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The reason a token file is missing or outdated.
enum TokenFileError: Error, Equatable, Sendable {
    /// The directory does not exist, and a sandboxed agent cannot use one that is created later.
    case noDirectory(String)
    /// The agent's sandbox, not the directory's mode, prevents writing.
    case outOfReach
    /// Any other reason, as a clause for the user.
    case failed(String, remedy: Remedy? = nil)

    /// The reason as a clause for the user.
    var reason: String {
        switch self {
        case .noDirectory(let path): "the directory \(path) does not exist"
        case .outOfReach: "its directory is outside the agent's sandbox"
        case .failed(let reason, _): reason
        }
    }

    /// Whether only a restart of the agent can help.
    var needsRestart: Bool {
        switch self {
        case .noDirectory, .outOfReach: true
        case .failed: false
        }
    }

    /// Returns an error for `operation` with the message of `errno`.
    static func latest(_ operation: String) -> TokenFileError {
        .failed("cannot \(operation): \(unsafe String(cString: strerror(errno)))")
    }
}

/// The location of a token file: its open directory, and the names of the file and its draft.
///
/// The directory belongs to the agent's user, and no one else can write or replace it, so no name in it can
/// lead elsewhere.
struct TokenFileLocation: ~Copyable {
    /// The identity of a file, independent of its name.
    struct DeviceAndInode: Equatable, Sendable {
        fileprivate var device: dev_t
        private(set) var inode: UInt64

        fileprivate init(_ status: stat) {
            device = status.st_dev
            inode = UInt64(status.st_ino)
        }
    }

    /// The maximum size in bytes of a token file: a token and the text around it.
    private static let largest = 1 << 20

    private let directory: Int32
    private let name: String
    /// The name of the new file until it is complete.
    ///
    /// It is always the same, so that the draft of a killed agent is found.
    private var draft: String { ".\(name).new" }

    /// Opens the directory of `path`, which is absolute.
    ///
    /// - Throws: ``TokenFileError`` if the directory does not exist or others can write it.
    init(_ path: String) throws(TokenFileError) {
        let parent = ListeningSocket.directory(of: path)
        try Self.reach(parent)
        do throws(ListenFailure) {
            try ListeningSocket.prepareDirectory(of: path, isOpenToOthers: true)
        } catch {
            throw .failed(error.description)
        }
        try self.init(unchecked: path)
    }

    /// Opens the directory of `path` to remove a file whose identity is known.
    ///
    /// This works even if others can write the directory by now.
    ///
    /// - Throws: ``TokenFileError`` if the directory does not exist or is a symbolic link.
    init(removing path: String) throws(TokenFileError) {
        try Self.reach(ListeningSocket.directory(of: path))
        try self.init(unchecked: path)
    }

    private static func reach(_ parent: String) throws(TokenFileError) {
        guard unsafe access(parent, F_OK) != 0 else { return }
        guard errno == ENOENT else { throw .latest("reach \(parent)") }
        throw .noDirectory(parent)
    }

    private init(unchecked path: String) throws(TokenFileError) {
        let parent = ListeningSocket.directory(of: path)
        // `O_PATH` suffices to name the directory in other calls, and the agent's sandbox allows it
        // everywhere.
        let opened = unsafe open(parent, __O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else { throw .latest("open \(parent)") }
        directory = opened
        let names = path.utf8.split(separator: UInt8(ascii: "/"))
        name = names.last.map { String(Substring($0)) } ?? path
    }

    deinit { close(directory) }

    /// Replaces the file with one that contains `bytes`.
    ///
    /// Readers see either the old or the new file, never a partial one.
    ///
    /// - Parameters:
    ///   - bytes: The new content.
    ///   - isDurable: Whether the content must survive a power cut.
    ///   - record: Receives the identity of the new file before anything is written to it.
    /// - Returns: The identity of the new file.
    /// - Throws: ``TokenFileError``, also from `record`; the old file then remains.
    borrowing func replace(
        with bytes: [UInt8],
        isDurable: Bool = false,
        recording record: (DeviceAndInode) throws(TokenFileError) -> Void = { _ in }
    ) throws(TokenFileError) -> DeviceAndInode {
        let identity = try write(bytes, isDurable: isDurable, recording: record)
        guard unsafe renameat(directory, draft, directory, name) == 0 else {
            let fault = TokenFileError.latest("replace the file")
            unlinkDraft()
            throw fault
        }
        return identity
    }

    /// Checks that files can be created in the directory.
    ///
    /// - Throws: ``TokenFileError`` if they cannot.
    borrowing func probe() throws(TokenFileError) {
        _ = try write([], isDurable: false) { _ in }
        unlinkDraft()
    }

    /// Writes the draft, and removes it if that fails.
    private borrowing func write(
        _ bytes: [UInt8],
        isDurable: Bool,
        recording record: (DeviceAndInode) throws(TokenFileError) -> Void
    ) throws(TokenFileError) -> DeviceAndInode {
        unlinkDraft()
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = unsafe openat(directory, draft, flags, 0o600)
        guard file >= 0 else { throw creationFault }
        defer { close(file) }
        var status = stat()
        // A umask may have removed even the owner's permissions.
        do throws(TokenFileError) {
            guard fchmod(file, 0o600) == 0, unsafe fstat(file, &status) == 0 else {
                throw .latest("write the file")
            }
            try record(DeviceAndInode(status))
            guard Self.write(bytes, to: file), !isDurable || fsync(file) == 0 else {
                throw .latest("write the file")
            }
        } catch {
            unlinkDraft()
            throw error
        }
        return DeviceAndInode(status)
    }

    /// The reason no file could be created; reads `errno`.
    private var creationFault: TokenFileError {
        let reason = errno
        // The directory's mode permits it, so the agent's sandbox denied it.
        if reason == EACCES, unsafe faccessat(directory, ".", W_OK, 0) == 0 { return .outOfReach }
        errno = reason
        return .latest("create a file in its directory")
    }

    private static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(file, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }

    private borrowing func unlinkDraft() {
        _ = unsafe unlinkat(directory, draft, 0)
    }

    /// Removes the draft, and the file if it is still the one with `identity`.
    ///
    /// - Parameter identity: The identity of the file that the agent wrote.
    /// - Throws: ``TokenFileError`` if the file remains.
    borrowing func remove(_ identity: DeviceAndInode) throws(TokenFileError) {
        unlinkDraft()
        var status = stat()
        guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw .latest("read the file") }
            return
        }
        if DeviceAndInode(status) == identity { try unlink(name) }
    }

    /// Removes the file and the draft of a killed agent, each only if it matches one of `marks`.
    ///
    /// - Throws: ``TokenFileError`` if a matching file remains.
    borrowing func remove(matching marks: [TokenFileFingerprint]) throws(TokenFileError) {
        for (name, isDraft) in [(draft, true), (name, false)] {
            guard let (inode, content) = contents(of: name),
                marks.contains(where: { $0.fits(inode, content, isDraft: isDraft) })
            else { continue }
            try unlink(name)
        }
    }

    /// Returns the inode and content of a file, or `nil` unless it is a regular file of this user.
    private borrowing func contents(of name: String) -> (inode: UInt64, bytes: [UInt8])? {
        let file = unsafe openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_size <= Self.largest
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        defer { bytes.wipe() }
        let count = unsafe pread(file, &bytes, bytes.count, 0)
        return (DeviceAndInode(status).inode, Array(bytes.prefix(max(0, count))))
    }

    private borrowing func unlink(_ name: String) throws(TokenFileError) {
        guard unsafe unlinkat(directory, name, 0) == 0 || errno == ENOENT else {
            throw .latest("remove the file")
        }
    }
}
