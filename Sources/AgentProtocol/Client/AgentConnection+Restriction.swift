// SPDX-License-Identifier: MIT

import Glibc
import Text

extension AgentConnection {
    /// Restricts this connection to what a `[[socket]]` for `sessions` serves, and returns its descriptor.
    ///
    /// - Parameters:
    ///   - sessions: The names of the sessions.
    ///   - host: The user of the connection from now on, for the agent's audit log.
    /// - Returns: The descriptor of the connection, which the caller closes.
    /// - Throws: ``AgentError``, the agent's own if it does not permit that at this socket.
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
        guard descriptor >= 0 else {
            throw AgentError(.internal, "cannot duplicate the connection: \(systemMessage(errno))")
        }
        return descriptor
    }
}
