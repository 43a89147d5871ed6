// SPDX-License-Identifier: MIT

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
}
