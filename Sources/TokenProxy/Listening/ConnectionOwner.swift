// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import NIOCore

/// Finds out whose a connection is, by asking the kernel.
///
/// Unchecked: confined to the event loop.
final class ConnectionOwner: @unchecked Sendable {
    /// Where the kernel is asked about TCP; the process cannot open another one once it is confined.
    private let lookup: CInt

    /// Opens the door to the kernel; nil if there is none, and then no TCP connection is anybody's.
    init?() {
        lookup = hardening_open_socket_lookup()
        guard lookup >= 0 else { return nil }
    }

    deinit {
        if lookup >= 0 { close(lookup) }
    }

    /// Whether an accepted connection, of which nothing has been read, is one of this user.
    ///
    /// Of a TCP connection the other end has to be open in a process of this user, and both ends have to be open after the
    /// kernel has said so: an end that was closed belongs to nobody, which reads like root. No answer is no.
    ///
    /// - Parameters:
    ///   - channel: the connection, whose addresses NIO does not know yet.
    ///   - isTCP: whether it came to a TCP address; otherwise it is one of a Unix socket.
    /// - Returns: whether a process of this user is at its other end.
    func isOwn(_ channel: any Channel, isTCP: Bool) -> Bool {
        let isOwn = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) {
            socket in
            isTCP ? isOwnTCP(socket) : isOwnLocal(socket)
        }
        return isOwn ?? false
    }

    private func isOwnLocal(_ socket: CInt) -> Bool {
        var process: pid_t = 0
        var user = uid_t.max
        return unsafe hardening_peer_credentials(socket, &process, &user) == 0 && user == geteuid()
    }

    private func isOwnTCP(_ socket: CInt) -> Bool {
        var user = uid_t.max
        return unsafe hardening_socket_owner(lookup, socket, &user) == 0 && user == geteuid()
            && hardening_is_established(socket) != 0
    }
}
