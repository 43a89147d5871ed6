// SPDX-License-Identifier: MIT

import Glibc

/// An error between a client and the agent before there is a response to parse.
package enum ConnectionFailure: Error, Equatable {
    /// Nothing is listening at the socket.
    case unreachable(socket: String, errno: Int32)
    /// The server at the socket runs as another user, who is not trusted.
    case foreignServer(socket: String, uid: UInt32)
    /// The path does not fit into a socket address.
    case pathTooLong(socket: String)
    /// The response did not arrive in time.
    case timedOut
    /// A process is listening at the socket but gave no sign of life for this long.
    case silent(socket: String, limit: Duration)
    /// The agent ended, or closed the connection, before the response was complete.
    case closed
    /// The bytes are not a response of an agent.
    case malformed(String)
    /// A system call failed.
    case system(String, errno: Int32)
}

extension AgentError {
    package init(_ failure: ConnectionFailure) {
        switch failure {
        case .unreachable(let socket, let errno):
            self.init(
                .noAgent,
                "no agent answers at \(socket): \(systemMessage(errno))",
                remedy: "start it with: tokenagent"
            )
        case .foreignServer(let socket, let uid):
            self.init(.denied, "the server at \(socket) belongs to another user, uid \(uid)")
        case .pathTooLong(let socket):
            self.init(
                .misconfigured,
                "the socket path is \(socket.utf8.count) bytes long, at most \(AgentPaths.maximumSocketPathLength) fit: "
                    + socket,
                remedy: "set TOKENAGENT_SOCK to a shorter path"
            )
        case .timedOut:
            self.init(.temporarilyUnavailable, "the agent did not answer in time")
        case .silent(let socket, let limit):
            self.init(
                .temporarilyUnavailable,
                "no response from the agent at \(socket) within \(limit.roundedSeconds) s",
                remedy: "tokenctl doctor"
            )
        case .closed:
            self.init(.noAgent, "the agent ended the connection before it had answered")
        case .malformed(let reason):
            self.init(.internal, "the agent's answer is not understood: \(reason)")
        case .system(let call, let errno):
            self.init(.internal, "\(call): \(systemMessage(errno))")
        }
    }
}

extension Duration {
    /// The duration in whole seconds, rounded up.
    fileprivate var roundedSeconds: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds > 0 ? seconds + 1 : seconds
    }
}

/// Returns the system's message for an error number.
package func systemMessage(_ error: Int32) -> String {
    guard let text = unsafe strerror(error) else { return "error \(error)" }
    return unsafe String(cString: text)
}
