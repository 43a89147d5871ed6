// SPDX-License-Identifier: MIT

import Glibc
import SystemCalls
import Text

/// An open configuration file with the attributes of its inode.
struct OpenConfigurationFile: ~Copyable {
    /// The maximum size of a configuration file, and of a file that it names, in bytes.
    static let maximumSize = 4 << 20

    private let descriptor: Int32
    let mode: mode_t
    let owner: uid_t
    /// The size in bytes.
    let size: Int

    /// Opens `name`.
    ///
    /// - Parameters:
    ///   - name: absolute, or relative to `directory`.
    ///   - directory: an open descriptor.
    ///   - flags: added to those that prevent blocking and close the descriptor on exec.
    /// - Throws: ``ConfigurationFileError`` if the file cannot be opened or is not a regular file.
    init(_ name: String, in directory: Int32 = AT_FDCWD, flags: Int32 = 0) throws(ConfigurationFileError) {
        // O_NONBLOCK: opening a named pipe must not block.
        let opened = unsafe openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)
        guard opened >= 0 else { throw ConfigurationFileError(opening: name, in: directory, errno) }
        var status = stat()
        guard unsafe fstat(opened, &status) == 0 else {
            let refusal = ConfigurationFileError.unreadable(errno)
            close(opened)
            throw refusal
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            throw ConfigurationFileError(message: "is not a regular file")
        }
        descriptor = opened
        mode = status.st_mode
        owner = status.st_uid
        size = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// Reads ``size`` bytes.
    ///
    /// If the file grows meanwhile, the new bytes are ignored.
    ///
    /// - Throws: ``ConfigurationFileError`` if reading fails.
    borrowing func contents() throws(ConfigurationFileError) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: size)
        var count = 0
        while count < text.count {
            let got = unsafe text.withUnsafeMutableBytes { buffer in
                unsafe read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw .unreadable(errno) }
            guard got > 0 else { break }
            count += got
        }
        text.removeLast(text.count - count)
        return text
    }
}

/// The reason a file or directory is not read.
struct ConfigurationFileError: Error {
    /// A clause for the user, with its remedy in parentheses.
    var message: String
    /// Whether the file or directory does not exist.
    var isAbsent = false
}

extension ConfigurationFileError {
    /// Creates an error with the step that helps.
    init(_ message: String, _ remedy: Remedy) {
        self.init(message: "\(message) \(remedy.parenthesized)")
    }

    /// Checks that nobody else can have written a file, or created files in a directory.
    ///
    /// - Parameters:
    ///   - owner: The owner.
    ///   - mode: The permissions.
    ///   - path: The path of the file or directory.
    ///   - name: What the message begins with, or an empty string.
    ///   - allowsRoot: Whether root may be the owner.
    ///   - isSecret: Whether nobody else may read it either.
    /// - Returns: The error, or `nil` if there is none.
    static func objection(
        to owner: uid_t,
        _ mode: mode_t,
        of path: String,
        as name: String = "",
        allowsRoot: Bool,
        isSecret: Bool = false
    ) -> ConfigurationFileError? {
        guard owner == getuid() || allowsRoot && owner == 0 else {
            let owners = "this user\(allowsRoot ? " or root" : "")"
            return ConfigurationFileError(message: "\(name)must be owned by \(owners), not by uid \(owner)")
        }
        if isSecret, mode & 0o077 != 0 {
            let message = "\(name)must not be accessible to group or others"
            return ConfigurationFileError(message, .run("chmod 600 \(ShellSyntax.sh.quoted(path))"))
        }
        guard mode & 0o022 != 0 else { return nil }
        let message = "\(name)must not be writable by group or others"
        return ConfigurationFileError(message, .run("chmod go-w \(ShellSyntax.sh.quoted(path))"))
    }

    /// Describes why the names in the directory at `path` could not be read.
    init(listing path: String, _ failure: DirectoryListing.Failure) {
        switch failure {
        case .system(let error): self.init(opening: path, error.code)
        case .tooMany: self.init(message: "\(failure.message), so none was read")
        }
    }

    /// Describes why `name` could not be opened, given the value of errno.
    init(opening name: String, in directory: Int32 = AT_FDCWD, _ reason: Int32) {
        // The file's mode allows reading, so the agent's sandbox denied it.
        if reason == EACCES, unsafe faccessat(directory, name, R_OK, 0) == 0 {
            self.init("is outside the agent's sandbox", .restart)
        } else {
            self = .unreadable(reason)
            isAbsent = reason == ENOENT || reason == ENOTDIR
        }
    }

    static func unreadable(_ reason: Int32) -> ConfigurationFileError {
        ConfigurationFileError(message: "cannot be read: \(unsafe String(cString: strerror(reason)))")
    }
}
