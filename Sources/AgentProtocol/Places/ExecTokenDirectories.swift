// SPDX-License-Identifier: MIT

/// The directories in which programs find their tokens, one for each running `tokenctl exec`.
///
/// Each is a ``LockedTemporaryDirectory``. Those that killed processes left are removed by the next start of `tokenctl
/// exec` or of the agent.
package enum ExecTokenDirectories {
    /// The names of the files in such a directory: the token, and the next one while it is being written.
    package static let token = "token"
    package static let draft = "new"

    /// Returns the directory that contains them, next to the agent's socket.
    package static func parent(besideSocket socket: String) -> String? {
        socket.lastIndex(of: "/").map { String(socket[..<$0]) + "/exec" }
    }

    /// Removes the directories that killed processes left next to a socket.
    package static func removeLeftovers(besideSocket socket: String) {
        if let parent = parent(besideSocket: socket) { removeLeftovers(in: parent) }
    }

    /// Removes the directories that killed processes left in `parent`, if only this user can enter it.
    package static func removeLeftovers(in parent: String) {
        do throws(AgentError) {
            try PrivateDirectory.check(parent)
        } catch {
            return
        }
        LockedTemporaryDirectory.removeLeftovers(in: parent)
    }
}
