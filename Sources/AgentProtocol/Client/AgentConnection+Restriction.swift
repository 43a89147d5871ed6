// SPDX-License-Identifier: MIT

import Glibc
import Text

extension AgentConnection {
    /// Has the agent limit this connection to what a `[[socket]]` for `sessions` gives out, and hands it over.
    ///
    /// - Parameters:
    ///   - sessions: their names.
    ///   - host: who uses the connection from now on, for the agent's audit log.
    /// - Returns: its descriptor, which the caller closes.
    /// - Throws: ``AgentError``: the agent's own if it does not do that at this socket.
    package consuming func restricted(
        to sessions: [String],
        for host: String
    ) throws(AgentError) -> Int32 {
        let message = RestrictMessage {
            $0.sessions = sessions
            $0.host = host
        }
        let request = AgentRequest(.post, "restrict", body: message.json.serialized)
        _ = try exchange(request, timeout: AgentConnection.maximumSilence)
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw AgentError(.internal, "dup: \(systemMessage(errno))") }
        return descriptor
    }
}
