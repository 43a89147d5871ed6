// SPDX-License-Identifier: MIT

import Glibc
import Text

/// Why a token file is not as it should be.
enum TokenFileError: Error, Equatable, Sendable {
    /// There is no such directory, and a confined agent cannot use one that is made later.
    case noDirectory(String)
    /// Our own confinement, not its mode, keeps us from writing in its directory.
    case outOfReach
    /// Anything else: a clause for a person.
    case failed(String)

    /// A clause for a person.
    var reason: String {
        switch self {
        case .noDirectory(let path): "the directory \(path) does not exist"
        case .outOfReach: "its directory is outside of what the agent may write since its start"
        case .failed(let reason): reason
        }
    }

    /// Whether only a new start of the agent can help.
    var needsRestart: Bool {
        switch self {
        case .noDirectory, .outOfReach: true
        case .failed: false
        }
    }

    /// What the latest system call said.
    static func latest(_ operation: String) -> TokenFileError {
        .failed("cannot \(operation): \(unsafe String(cString: strerror(errno)))")
    }
}

/// Where a token file is: its directory, open, and the names in it.
///
/// The directory belongs to us and nobody else can write it or replace it, so that no name in it can lead elsewhere.
struct TokenFileLocation: ~Copyable {
    /// A file, whatever its name.
    struct Identity: Equatable, Sendable {
        fileprivate var device: dev_t
        private(set) var inode: UInt64

        fileprivate init(_ status: stat) {
            device = status.st_dev
            inode = UInt64(status.st_ino)
        }
    }

    /// Bytes of the largest token file: a token and what is around it.
    private static let largest = 1 << 20

    private let directory: Int32
    private let name: String
    /// The name of the next file until it is whole; one name, so that what a killed agent left is found.
    private var draft: String { ".\(name).new" }

    /// Opens the directory of `path`, which is absolute.
    ///
    /// - Throws: ``TokenFileError`` if it is not there, or not ours alone.
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

    /// Opens the directory of `path` to remove a file whose identity is known: that goes even where others may write by now.
    ///
    /// - Throws: ``TokenFileError`` if it is not there, or is a symbolic link.
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
        // Only to name it in other calls, which our own confinement allows everywhere.
        let opened = unsafe open(parent, __O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else { throw .latest("open \(parent)") }
        directory = opened
        let names = path.utf8.split(separator: UInt8(ascii: "/"))
        name = names.last.map { String(Substring($0)) } ?? path
    }

    deinit { close(directory) }

    /// Puts a file that holds `bytes` in the place of whatever has the name; a reader sees the old one or the new
    /// one, whole.
    ///
    /// - Parameters:
    ///   - bytes: what the file holds.
    ///   - isDurable: whether they must outlive a power cut.
    ///   - record: is told which file it is before anything is written into it.
    /// - Returns: which file it is.
    /// - Throws: ``TokenFileError``, also of `record`; the old one is there then.
    borrowing func replace(
        with bytes: [UInt8],
        isDurable: Bool = false,
        recording record: (Identity) throws(TokenFileError) -> Void = { _ in }
    ) throws(TokenFileError) -> Identity {
        let identity = try write(bytes, isDurable: isDurable, recording: record)
        guard unsafe renameat(directory, draft, directory, name) == 0 else {
            let fault = TokenFileError.latest("replace the file")
            unlinkDraft()
            throw fault
        }
        return identity
    }

    /// Fails if files cannot be made there.
    borrowing func probe() throws(TokenFileError) {
        _ = try write([], isDurable: false) { _ in }
        unlinkDraft()
    }

    /// Writes the draft.
    private borrowing func write(
        _ bytes: [UInt8],
        isDurable: Bool,
        recording record: (Identity) throws(TokenFileError) -> Void
    ) throws(TokenFileError) -> Identity {
        unlinkDraft()
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = unsafe openat(directory, draft, flags, 0o600)
        guard file >= 0 else { throw creationFault }
        defer { close(file) }
        var status = stat()
        // A umask may have taken even the owner's bits.
        do throws(TokenFileError) {
            guard fchmod(file, 0o600) == 0, unsafe fstat(file, &status) == 0 else {
                throw .latest("write the file")
            }
            try record(Identity(status))
            guard Self.write(bytes, to: file), !isDurable || fsync(file) == 0 else {
                throw .latest("write the file")
            }
        } catch {
            unlinkDraft()
            throw error
        }
        return Identity(status)
    }

    /// Why no file could be made; reads errno.
    private var creationFault: TokenFileError {
        let reason = errno
        // Its mode lets us, so it was the agent's own confinement that did not.
        if reason == EACCES, unsafe faccessat(directory, ".", W_OK, 0) == 0 { return .outOfReach }
        errno = reason
        return .latest("make a file in its directory")
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

    /// Removes the file, and what was begun; what somebody has put in its place stays.
    ///
    /// - Parameter identity: the file that was put there.
    /// - Throws: ``TokenFileError``; it is still there.
    borrowing func remove(_ identity: Identity) throws(TokenFileError) {
        unlinkDraft()
        var status = stat()
        guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            guard errno == ENOENT else { throw .latest("look at the file") }
            return
        }
        if Identity(status) == identity { try unlink(name) }
    }

    /// Removes the file, and what a killed agent had begun, each if it is one of those with `marks`.
    ///
    /// - Throws: ``TokenFileError``; it is still there.
    borrowing func remove(matching marks: [TokenFileMark]) throws(TokenFileError) {
        for (name, isDraft) in [(draft, true), (name, false)] {
            guard let (inode, content) = contents(of: name),
                marks.contains(where: { $0.fits(inode, content, isDraft: isDraft) })
            else { continue }
            try unlink(name)
        }
    }

    /// The file of this name, if it is a regular one of ours alone.
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
        return (Identity(status).inode, Array(bytes.prefix(max(0, count))))
    }

    private borrowing func unlink(_ name: String) throws(TokenFileError) {
        guard unsafe unlinkat(directory, name, 0) == 0 || errno == ENOENT else {
            throw .latest("remove the file")
        }
    }
}
