// SPDX-License-Identifier: MIT

import AgentProtocol

/// A token file for one program, in its own directory next to the agent's socket.
///
/// The directory is removed with this process, see ``ExecTokenDirectories``.
struct ExecTokenFile: ~Copyable {
    private let directory: LockedTemporaryDirectory

    /// The path of the file for the program.
    var path: String { directory.path + "/" + ExecTokenDirectories.token }

    /// Removes the directories of killed processes, then creates one for this process.
    ///
    /// - Throws: ``AgentError`` if other users can enter the socket's directory or it cannot be written.
    init(besideSocket socket: String) throws(AgentError) {
        guard let slash = socket.lastIndex(of: "/"),
            let parent = ExecTokenDirectories.parent(besideSocket: socket)
        else { throw AgentError(.misconfigured, "the socket path is not absolute") }
        try PrivateDirectory.check(String(socket[..<slash]))
        try PrivateDirectory.prepare(parent)
        ExecTokenDirectories.removeLeftovers(in: parent)
        directory = try LockedTemporaryDirectory(in: parent)
    }

    /// Replaces the token atomically: a reader sees the old or the new one, complete.
    borrowing func write(_ token: String) throws(AgentError) {
        try PrivateFile.replace(path, from: directory.path + "/" + ExecTokenDirectories.draft, with: token)
    }
}
