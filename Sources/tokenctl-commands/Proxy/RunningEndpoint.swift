// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import Text

/// An `[[endpoint]]` that is served, as a program finds it.
struct RunningEndpoint {
    /// Bytes of an address or a secret.
    private static let longest = 256

    var url: String
    /// What programs show there, if they have to.
    var secret: String?
    /// Where they find it.
    var secretFile: String?

    init(url: String) {
        self.url = url
    }

    /// The endpoint `name` that a `tokenctl proxy` of this user serves now; `nil`: none does.
    init?(_ name: String, besideSocket socket: String) {
        let places = EndpointPlaces(besideSocket: socket)
        guard EndpointPlaces.isLocked(places.address(of: name)),
            let url = RunningEndpoint.word(places.address(of: name))
        else { return nil }
        self.url = url
        secretFile = places.secret(of: name)
        secret = RunningEndpoint.word(places.secret(of: name))
    }

    /// What a file of this user says, if that is one word.
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

/// The files of the endpoints that are served, beside the agent's socket.
struct EndpointPlaces {
    let directory: String

    init(besideSocket socket: String) {
        directory = (socket.lastIndex(of: "/").map { String(socket[..<$0]) } ?? "") + "/endpoint"
    }

    /// What programs show at the endpoint `name`.
    func secret(of name: String) -> String { "\(directory)/\(name)" }

    /// Where it is served, locked by the process that serves it; the names of tables have no `~`.
    func address(of name: String) -> String { "\(directory)/\(name)~at" }

    /// Whether a process has locked the file.
    static func isLocked(_ path: String) -> Bool {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return false }
        defer { close(file) }
        return flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
