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

    /// Whether an accepted connection, of which nothing has been read, is one of this user or of `users`.
    ///
    /// Of a TCP connection the other end has to be open in a process of such a user, and both ends have to be open after the
    /// kernel has said so: an end that was closed belongs to nobody, which reads like root. No answer is no.
    ///
    /// - Parameters:
    ///   - channel: the connection, whose addresses NIO does not know yet.
    ///   - isTCP: whether it came to a TCP address; otherwise it is one of a Unix socket.
    ///   - users: the numbers of other users who may connect.
    /// - Returns: whether a process of one of them is at its other end.
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
