// SPDX-License-Identifier: MIT

import Glibc
import Text

/// Reads small configuration files.
package enum SmallFile {
    package struct Failure: Error {
        package var message: String
        /// The remedy, or `nil` if none is known.
        package var remedy: Remedy?
        /// Whether the agent's own sandbox denied the access, and not the file's mode.
        package var isBlockedBySandbox = false
    }

    /// The access that other users may have to a file.
    package enum Access: Sendable {
        case anybody
        /// No other user may write the file, because its contents are trusted.
        case readers
        /// No other user may read the file, because it is secret.
        case nobody

        /// Returns the mode bits that must not be set.
        ///
        /// A file of root, such as a service manager's or cluster's, may be readable by its group.
        fileprivate func forbidden(isOwn: Bool) -> mode_t {
            switch self {
            case .anybody: 0
            case .readers: 0o022
            case .nobody: isOwn ? 0o077 : 0o037
            }
        }
    }

    /// The maximum number of bytes.
    ///
    /// No secret or CA bundle in use is larger.
    package static let limit = 1 << 20

    /// Reads the file at `path`.
    ///
    /// A symbolic link is followed, and its target is checked.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - access: The access that other users may have. With anything but `anybody`, the file must be a
    ///     regular file of this user or root.
    ///   - limit: The maximum number of bytes.
    /// - Returns: The bytes of the file.
    /// - Throws: The reason the file cannot be read, as the end of a sentence that begins with its path.
    package static func read(
        _ path: String,
        sharedWith access: Access = .anybody,
        limit: Int = limit
    ) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let reason = errno
            guard SystemErrorText.isBlockedBySandbox(path, reason) else {
                throw Failure(message: SystemErrorText.text(reason))
            }
            throw Failure(
                message: "is outside the running agent's sandbox",
                remedy: .restart,
                isBlockedBySandbox: true
            )
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw Failure(message: SystemErrorText.text(errno))
        }
        if let objection = objection(to: status, of: path, sharedWith: access) { throw objection }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        defer { chunk.wipe() }
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
            guard count >= 0 else { throw Failure(message: SystemErrorText.text(errno)) }
            guard count > 0 else { return bytes }
            guard bytes.count + count <= limit else {
                throw Failure(message: "is larger than \(limit >> 10) KiB")
            }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// Checks the file at `path` without opening it.
    ///
    /// - Throws: The reason the file must not be used, as the end of a sentence that begins with its path.
    package static func check(_ path: String, sharedWith access: Access) throws(Failure) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw Failure(message: SystemErrorText.text(errno)) }
        if let objection = objection(to: status, of: path, sharedWith: access) { throw objection }
    }

    private static func objection(
        to status: stat,
        of path: String,
        sharedWith access: Access
    ) -> Failure? {
        if case .anybody = access { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: return Failure(message: "is a directory, not a file")
        default: return Failure(message: "is not a regular file")
        }
        let isOwn = status.st_uid == geteuid()
        guard isOwn || status.st_uid == 0 else {
            return Failure(message: "is owned by another user (uid \(status.st_uid))")
        }
        let mode = status.st_mode & access.forbidden(isOwn: isOwn)
        if mode & 0o022 != 0 {
            return Failure(message: "is writable by other users", remedy: .run("chmod go-w \(path)"))
        }
        guard mode != 0 else { return nil }
        return Failure(message: "is readable by other users", remedy: .run("chmod 600 \(path)"))
    }
}

/// Files that hold secrets.
package enum SecretFileCheck {
    /// Returns the reason a secret must not be stored in the file at `path`.
    ///
    /// - Returns: The end of a sentence that begins with the path, and the remedy. `nil` if the file exists
    ///   and no other user can read or write it.
    package static func objection(to path: String) -> (message: String, remedy: Remedy?)? {
        do throws(SmallFile.Failure) {
            try SmallFile.check(path, sharedWith: .nobody)
            return nil
        } catch {
            return (error.message, error.remedy)
        }
    }
}

/// The system's texts for its error numbers.
package enum SystemErrorText {
    /// Returns the text for the error `number`.
    package static func text(_ number: Int32) -> String {
        guard let message = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: message)
    }

    /// Returns whether the agent's own sandbox denies access to `path`, which could not be opened.
    ///
    /// `access` checks only the file's mode. If the mode allows the access, the sandbox denied it.
    package static func isBlockedBySandbox(_ path: String, _ reason: Int32) -> Bool {
        unsafe reason == EACCES && access(path, R_OK) == 0
    }
}
