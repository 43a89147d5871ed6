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
    /// The system refused the attempt, such as "create a socket".
    case system(String, errno: Int32)
}

extension AgentError {
    package init(_ failure: ConnectionFailure) {
        switch failure {
        case .unreachable(let socket, let errno):
            self.init(
                .noAgent,
                "cannot connect to the agent at \(socket): \(systemMessage(errno))",
                remedy: .run(
                    AgentPaths.systemUnit(of: socket).map { "systemctl start \($0)" } ?? "tokenagent"
                )
            )
        case .foreignServer(let socket, let uid):
            self.init(.denied, "refusing to use \(socket): owned by another user (uid \(uid))")
        case .pathTooLong(let socket):
            self.init(
                .misconfigured,
                "the socket path has \(socket.utf8.count) bytes, more than \(AgentPaths.maximumSocketPathLength): "
                    + socket,
                remedy: .set("TOKENAGENT_SOCK to a shorter path")
            )
        case .timedOut:
            self.init(.temporarilyUnavailable, "timed out waiting for the agent")
        case .silent(let socket, let limit):
            self.init(
                .temporarilyUnavailable,
                "no response from the agent at \(socket) within \(limit.roundedSeconds) s",
                remedy: .run("tokenctl doctor")
            )
        case .closed:
            self.init(.noAgent, "connection closed by the agent before it responded")
        case .malformed(let reason):
            self.init(.internal, "malformed response from the agent: \(reason)")
        case .system(let attempt, let errno):
            self.init(.internal, "cannot \(attempt): \(systemMessage(errno))")
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
