// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// The certificates of a private authority, copied to where the session's file is.
///
/// A running agent may read what lies there; everything else it was closed off from at its start.
struct CopiedAuthority {
    /// Where a person keeps the certificates.
    private let origin: String
    private let file: SessionFile
    /// Whether the certificates lie there already.
    private let isThere: Bool

    /// The most bytes of a file, more than any list of authorities.
    private static let maximumSize = 4_194_304

    init(_ origin: String, for file: SessionFile) {
        self.origin = origin
        self.file = file
        isThere = origin.utf8.starts(with: "\(file.directory)/".utf8)
    }

    /// Where the session's file finds the certificates.
    var path: String { isThere ? origin : file.authorityPath }

    /// Copies the certificates, over those that a killed command has left.
    ///
    /// - Throws: ``AgentError`` if they cannot be read or written.
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

    /// Deletes the copy, unless a session is there that uses it.
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
        throw AgentError(.badRequest, "\(origin) is larger than any list of certificates")
    }
}
