// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// Why the agent cannot listen; the person who started it can fix each case.
package enum ListenFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Linux has room for 107 bytes (unix(7)).
    case pathTooLong(path: String)
    /// Somebody else could change the directory of the socket, or one above it.
    case unsafeDirectory(path: String, reason: String)
    /// Another agent answers there.
    case alreadyRunning(path: String)
    /// Something that is not a socket is in the way.
    case occupied(path: String)
    /// A system call failed.
    case system(operation: String, path: String, reason: String)
    /// The inherited descriptor is not a listening Unix stream socket.
    case notASocket(descriptor: CInt)

    package var description: String {
        switch self {
        case .pathTooLong(let path): "the socket path is longer than 107 bytes: \(path)"
        case .unsafeDirectory(let path, let reason): "refusing the directory \(path): \(reason)"
        case .alreadyRunning(let path): "an agent is already listening at \(path)"
        case .occupied(let path): "\(path) exists and is not a socket"
        case .system(let operation, let path, let reason): "cannot \(operation) \(path): \(reason)"
        case .notASocket(let descriptor): "descriptor \(descriptor) is not a listening Unix stream socket"
        }
    }

    /// What the latest system call said.
    static func latest(_ operation: String, _ path: String) -> ListenFailure {
        .system(operation: operation, path: path, reason: systemMessage(errno))
    }

    init(_ fault: SocketDirectory.Fault) {
        switch fault {
        case .unsafe(let path, let reason): self = .unsafeDirectory(path: path, reason: reason)
        case .system(let operation, let path, let number):
            self = .system(operation: operation, path: path, reason: systemMessage(number))
        }
    }
}
