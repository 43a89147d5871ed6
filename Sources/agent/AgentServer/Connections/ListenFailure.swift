// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc

/// An error that prevents the agent from listening.
///
/// The user who started the agent can fix each one.
package enum ListenFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path is longer than the 107 bytes that Linux allows (unix(7)).
    case pathTooLong(path: String)
    /// Other users could change the directory of the socket, or one above it.
    case unsafeDirectory(path: String, reason: String)
    /// Another agent is listening there.
    case alreadyRunning(path: String)
    /// The path exists and is not a socket.
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

    /// Returns the error of the latest system call.
    static func latest(_ operation: String, _ path: String) -> ListenFailure {
        .system(operation: operation, path: path, reason: systemMessage(errno))
    }

    init(_ fault: SocketDirectory.DirectoryError) {
        switch fault {
        case .unsafe(let path, let reason): self = .unsafeDirectory(path: path, reason: reason)
        case .system(let operation, let path, let number):
            self = .system(operation: operation, path: path, reason: systemMessage(number))
        }
    }
}
