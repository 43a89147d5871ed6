// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import NIOCore

/// A kernel lookup of the Unix user at the other end of a connection.
///
/// Unchecked: confined to the event loop.
final class ConnectionUserLookup: @unchecked Sendable {
    /// The socket for kernel queries about TCP.
    ///
    /// A sandboxed process cannot open another one.
    private let lookup: CInt

    /// Opens the socket for kernel queries, or returns `nil` if that is not possible.
    init?() {
        lookup = hardening_open_socket_lookup()
        guard lookup >= 0 else { return nil }
    }

    deinit {
        if lookup >= 0 { close(lookup) }
    }

    /// Returns whether an accepted connection belongs to this user or one of `users`.
    ///
    /// Nothing of the connection may have been read. For TCP, the other end must be open in a process of such
    /// a user. Both ends must still be open after the kernel's response: a closed end belongs to nobody,
    /// which the kernel reports as root. Without a response from the kernel, the result is `false`.
    ///
    /// - Parameters:
    ///   - channel: the connection, whose addresses NIO does not know yet.
    ///   - isTCP: whether the connection is over TCP rather than a Unix socket.
    ///   - users: the user IDs of other users who may connect.
    /// - Returns: whether a process of an allowed user is at the other end.
    func isServed(_ channel: any Channel, isTCP: Bool, _ users: Set<UInt32>) -> Bool {
        let user = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) {
            socket in
            isTCP ? userOfTCP(socket) : userOfLocal(socket)
        }
        guard let user = user ?? nil else { return false }
        return user == geteuid() || users.contains(user)
    }

    private func userOfLocal(_ socket: CInt) -> uid_t? {
        var process: pid_t = 0
        var user = uid_t.max
        return unsafe hardening_peer_credentials(socket, &process, &user) == 0 ? user : nil
    }

    private func userOfTCP(_ socket: CInt) -> uid_t? {
        var user = uid_t.max
        let isKnown =
            unsafe hardening_socket_owner(lookup, socket, &user) == 0 && hardening_is_established(socket) != 0
        return isKnown ? user : nil
    }
}
