// SPDX-License-Identifier: MIT

import Glibc
import Text

/// Reads small configuration files.
package enum SmallFile {
    package struct Failure: Error {
        package var message: String
        /// What to do about it, where that is known.
        package var remedy: String?
        /// Our own confinement refused, not the file's mode.
        var isBlockedBySandbox = false
    }

    /// Who else may have access to a file.
    package enum Access: Sendable {
        case anybody
        /// Nobody else may write it: what it says is believed.
        case readers
        /// Nobody else may read it: it is a secret.
        case nobody

        /// The bits of its mode that must not be set; a service manager's or cluster's file is root's, for one group.
        fileprivate func forbidden(isOwn: Bool) -> mode_t {
            switch self {
            case .anybody: 0
            case .readers: 0o022
            case .nobody: isOwn ? 0o077 : 0o037
            }
        }
    }

    /// Bytes; no secret or CA bundle in use is larger.
    package static let limit = 1 << 20

    /// All bytes of the file at `path`, which may be a link: what it leads to is what counts.
    ///
    /// - Parameters:
    ///   - path: of the file.
    ///   - access: who else may have access to it; with anything but `anybody` it is a regular file of ours or root's.
    ///   - limit: the most bytes it may have.
    /// - Returns: its bytes.
    /// - Throws: why it is not read, as the end of a sentence that begins with its path.
    package static func read(
        _ path: String,
        sharedWith access: Access = .anybody,
        limit: Int = limit
    ) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let reason = errno
            throw Failure(
                message: SystemError.openText(path, reason),
                isBlockedBySandbox: SystemError.isBlockedBySandbox(path, reason)
            )
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Failure(message: SystemError.text(errno)) }
        if let objection = objection(to: status, of: path, sharedWith: access) { throw objection }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        defer { chunk.wipe() }
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
            guard count >= 0 else { throw Failure(message: SystemError.text(errno)) }
            guard count > 0 else { return bytes }
            guard bytes.count + count <= limit else {
                throw Failure(message: "is larger than \(limit >> 10) KiB")
            }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// Looks at the file at `path` without opening it.
    static func check(_ path: String, sharedWith access: Access) throws(Failure) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw Failure(message: SystemError.text(errno)) }
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
            return Failure(message: "belongs to another user (uid \(status.st_uid))")
        }
        let mode = status.st_mode & access.forbidden(isOwn: isOwn)
        if mode & 0o022 != 0 {
            return Failure(message: "may be written by others", remedy: "chmod go-w \(path)")
        }
        return mode == 0 ? nil : Failure(message: "may be read by others", remedy: "chmod 600 \(path)")
    }
}

/// Files that hold secrets.
package enum SecretFile {
    /// Why the file at `path` is no place for a secret.
    ///
    /// - Returns: the end of a sentence that begins with its path, and what to do; `nil`: it is there, and nobody else
    ///   can read or write it.
    package static func objection(to path: String) -> (message: String, remedy: String?)? {
        do throws(SmallFile.Failure) {
            try SmallFile.check(path, sharedWith: .nobody)
            return nil
        } catch {
            return (error.message, error.remedy)
        }
    }
}

/// The system's words for its error numbers.
enum SystemError {
    static func text(_ number: Int32) -> String {
        guard let message = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: message)
    }

    /// Why `path` could not be opened, by the value of errno after that.
    static func openText(_ path: String, _ reason: Int32) -> String {
        guard isBlockedBySandbox(path, reason) else { return text(reason) }
        return "is outside what the agent may read since its start; restart it"
    }

    /// Whether our own confinement keeps `path`, which could not be opened, from us.
    ///
    /// `access` checks the file's mode only: if that allows it, the agent's own confinement refused.
    static func isBlockedBySandbox(_ path: String, _ reason: Int32) -> Bool {
        unsafe reason == EACCES && access(path, R_OK) == 0
    }
}
