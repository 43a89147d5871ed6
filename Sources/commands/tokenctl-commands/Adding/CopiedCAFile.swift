// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The certificates of a private CA, copied next to the session's file.
///
/// A running agent may read that directory; its sandbox blocks all other files that it did not know at its
/// start.
struct CopiedCAFile {
    /// The path of the user's original file.
    private let origin: String
    private let file: SessionFile
    /// Whether the original file is already in that directory.
    private let isThere: Bool

    /// The maximum size of a file in bytes, more than any list of CAs.
    private static let maximumSize = 4_194_304

    init(_ origin: String, for file: SessionFile) {
        self.origin = origin
        self.file = file
        isThere = origin.utf8.starts(with: "\(file.directory)/".utf8)
    }

    /// The path of the certificates for the session's file.
    var path: String { isThere ? origin : file.authorityPath }

    /// Copies the certificates, and replaces a copy that a killed command has left.
    ///
    /// - Throws: ``AgentError`` if the certificates cannot be read or written.
    func put() throws(AgentError) {
        guard !isThere else { return }
        let bytes = try contents()
        try file.makeDirectory()
        unsafe unlink(path)
        let opened = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw SessionFile.failure("write", path) }
        defer { close(opened) }
        errno = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: opened) }
        guard errno == 0, fsync(opened) == 0 else { throw SessionFile.failure("write", path) }
        SessionFile.sync(file.directory)
    }

    /// Deletes the copy, unless a session uses it.
    func takeBack() {
        if !isThere, !file.exists { unsafe unlink(path) }
    }

    private func contents() throws(AgentError) -> [UInt8] {
        let opened = unsafe open(origin, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { throw SessionFile.failure("read", origin) }
        defer { close(opened) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= Self.maximumSize {
            let count = unsafe read(opened, &piece, piece.count)
            guard count >= 0 else { throw SessionFile.failure("read", origin) }
            guard count > 0 else { return bytes }
            bytes += piece.prefix(count)
        }
        throw AgentError(.badRequest, "cannot read \(origin): larger than 4 MiB")
    }
}
