// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// An `[[endpoint]]` that is served, as programs find it.
struct RunningEndpoint {
    /// The maximum size of a URL or a secret in bytes.
    private static let longest = 256

    var url: String
    /// The secret that programs present, if required.
    var secret: String?
    /// The path of the file with the secret.
    var secretFile: String?

    init(url: String) {
        self.url = url
    }

    /// Finds the endpoint `name` served by a `tokenctl proxy` of this user, or returns `nil` if there is
    /// none.
    init?(_ name: String, besideSocket socket: String) {
        let places = EndpointFilePaths(besideSocket: socket)
        guard EndpointFilePaths.isLocked(places.address(of: name)),
            let url = RunningEndpoint.word(places.address(of: name))
        else { return nil }
        self.url = url
        secretFile = places.secret(of: name)
        secret = RunningEndpoint.word(places.secret(of: name))
    }

    /// Returns the contents of a file of this user if they are one word, or `nil`.
    private static func word(_ path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG
        else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: longest)
        let count = unsafe read(file, &bytes, bytes.count)
        guard count > 0, bytes[..<count].isVisibleWord else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

/// The paths of the files of served endpoints, next to the agent's socket.
struct EndpointFilePaths {
    let directory: String

    init(besideSocket socket: String) {
        directory = (socket.lastIndex(of: "/").map { String(socket[..<$0]) } ?? "") + "/endpoint"
    }

    /// Returns the path of the file with the secret of the endpoint `name`.
    func secret(of name: String) -> String { "\(directory)/\(name)" }

    /// Returns the path of the file with the endpoint's URL.
    ///
    /// The process that serves the endpoint holds a lock on the file. Names of tables cannot contain `~`.
    func address(of name: String) -> String { "\(directory)/\(name)~at" }

    /// Returns whether a process holds a lock on the file.
    static func isLocked(_ path: String) -> Bool {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return false }
        defer { close(file) }
        return flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
