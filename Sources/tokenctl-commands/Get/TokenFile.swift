// SPDX-License-Identifier: MIT

import AgentProtocol

/// A token in a file for one program, in a directory of its own beside the agent's socket.
///
/// The directory goes with this process, see ``TokenDirectories``.
struct TokenFile: ~Copyable {
    private let directory: LockedDirectory

    /// The path that the program is told.
    var path: String { directory.path + "/" + TokenDirectories.token }

    /// Removes what killed processes left, then makes a directory for this one.
    ///
    /// - Throws: ``AgentError`` if the directory of the socket is open to others or cannot be written.
    init(besideSocket socket: String) throws(AgentError) {
        guard let slash = socket.lastIndex(of: "/"),
            let parent = TokenDirectories.parent(besideSocket: socket)
        else { throw AgentError(.misconfigured, "the socket path is not absolute") }
        try PrivateDirectory.check(String(socket[..<slash]))
        try PrivateDirectory.prepare(parent)
        TokenDirectories.removeLeftovers(in: parent)
        directory = try LockedDirectory(in: parent)
    }

    /// Puts `token` there; a reader sees the old one or the new one, whole.
    borrowing func write(_ token: String) throws(AgentError) {
        try PrivateFile.replace(path, from: directory.path + "/" + TokenDirectories.draft, with: token)
    }
}
