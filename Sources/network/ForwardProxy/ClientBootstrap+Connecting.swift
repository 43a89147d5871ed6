// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import NIOPosix
import Text

extension ClientBootstrap {
    /// Connects to a server or a proxy.
    ///
    /// `localhost` and the names below it are this machine and are not looked up (RFC 6761 §6.3): a resolver
    /// may return another machine's address, and what is sent to this machine may be in the clear.
    ///
    /// Call this on the event loop of the bootstrap.
    ///
    /// - Parameters:
    ///   - server: the name or address, with no brackets around an IPv6 address.
    ///   - port: the port.
    /// - Returns: a future with the connection, or the error of the first address.
    package func connect(toServer server: String, port: Int) -> EventLoopFuture<any Channel> {
        let addresses = LocalhostName.contains(server) ? LocalhostName.addresses : [server]
        return addresses.dropFirst().reduce(connect(host: addresses[0], port: port)) { attempt, address in
            attempt.assumeIsolated().flatMapError { error in
                self.connect(host: address, port: port).flatMapErrorThrowing { _ in throw error }
            }
            .nonisolated()
        }
    }

    /// Connects to a server through a forward proxy.
    ///
    /// - Parameters:
    ///   - server: the name or address, with no brackets around an IPv6 address.
    ///   - port: the port.
    ///   - tunnel: the tunnels through the proxy.
    /// - Returns: a future with a connection whose other end is the server, or a ``ProxyFailure``.
    package func connect(
        toServer server: String,
        port: Int,
        through tunnel: ProxyTunnel
    ) -> EventLoopFuture<any Channel> {
        connect(toServer: tunnel.proxy.host, port: tunnel.proxy.port)
            .flatMapErrorThrowing { throw ProxyFailure.unreachable(ConnectionFailureText.reason(of: $0)) }
            .flatMap { channel in
                tunnel.open(to: server, port: port, over: channel).map { channel }
                    .flatMapErrorThrowing { error in
                        channel.close(promise: nil)
                        throw error
                    }
            }
    }
}

/// The words for an error of a connection that was not established.
package enum ConnectionFailureText {
    /// Returns the reason as a clause for the user.
    package static func reason(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.last.map { reason(of: $0.error) } ?? "the host name cannot be resolved"
        case let error as IOError: systemMessage(error.errnoCode)
        default: "connection timed out"
        }
    }
}
