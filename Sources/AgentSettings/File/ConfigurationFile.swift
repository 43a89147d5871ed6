// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The configuration file: where it is, and whether it has to exist.
package struct ConfigurationFile: Equatable, Sendable {
    /// Larger files are refused unread.
    package static let largestSize = 4 << 20

    package let path: String
    /// Whether a person named the file; the default one need not exist.
    package let mustExist: Bool

    package init(path: String, mustExist: Bool) {
        self.path = path
        self.mustExist = mustExist
    }

    /// Reads and checks the file.
    ///
    /// Others may read it unless it holds a client secret, and may never write it: a writer decides where
    /// refresh tokens are sent.
    ///
    /// - Parameter home: what `~/` stands for.
    /// - Returns: the settings; the defaults when there is no file and there need not be one.
    /// - Throws: everything there is to fix.
    package func settings(home: String?) throws(ConfigurationProblems) -> Settings {
        guard let opened = try open() else { return Settings() }
        defer { close(opened) }
        let status = try checkedStatus(opened)
        var text = try contents(opened, size: Int(status.st_size))
        defer { text.wipe() }
        let settings = try SettingsReader(home: home).read(text, file: path)
        if status.st_mode & 0o077 != 0, settings.sessions.contains(where: \.holdsLiteralSecret) {
            throw problem(
                "holds a client_secret but others may read it: chmod 600, or use client_secret_command"
            )
        }
        return settings
    }

    /// The descriptor, or `nil` when there is no file and there need not be one.
    private func open() throws(ConfigurationProblems) -> Int32? {
        // O_NONBLOCK: a named pipe in its place must not stop us.
        let file = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file < 0 else { return file }
        if errno == ENOENT || errno == ENOTDIR, !mustExist { return nil }
        let reason = errno
        // The file's mode lets us in, so it was the agent's own confinement that did not.
        guard unsafe reason != EACCES || access(path, R_OK) != 0 else {
            throw problem("is outside what the agent may read since its start; restart it")
        }
        throw problem("cannot be read: \(unsafe String(cString: strerror(reason)))")
    }

    private func checkedStatus(_ file: Int32) throws(ConfigurationProblems) -> stat {
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else {
            throw problem("cannot be read: \(unsafe String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw problem("is not a regular file") }
        guard status.st_uid == getuid() || status.st_uid == 0 else {
            throw problem("belongs to another user (uid \(status.st_uid)): chown it to yourself")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw problem("may be written by others: chmod go-w")
        }
        guard status.st_size <= ConfigurationFile.largestSize else { throw problem("is larger than 4 MiB") }
        return status
    }

    /// Reads `size` bytes; a file that grows meanwhile is read as far as it went before.
    private func contents(_ file: Int32, size: Int) throws(ConfigurationProblems) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: size)
        var count = 0
        while count < text.count {
            let got = unsafe text.withUnsafeMutableBytes { buffer in
                unsafe read(file, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else {
                throw problem("cannot be read: \(unsafe String(cString: strerror(errno)))")
            }
            guard got > 0 else { break }
            count += got
        }
        text.removeLast(text.count - count)
        return text
    }

    private func problem(_ message: String) -> ConfigurationProblems {
        ConfigurationProblems(file: path, problems: [ConfigurationProblem(message: message)])
    }
}

extension ConfiguredSession {
    /// Whether the client secret is written in the file itself.
    package var holdsLiteralSecret: Bool {
        client.literalSecret != nil
    }
}
