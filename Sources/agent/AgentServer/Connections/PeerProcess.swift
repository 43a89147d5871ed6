// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import TokenCore

/// The process that connected, held so that another process with the same number is not mistaken for it.
struct PeerProcess: Sendable {
    private enum Hold {
        /// A descriptor of the process itself (SO_PEERPIDFD, Linux 6.5).
        case descriptor(CInt)
        /// The latest possible start time of the process, on an older kernel.
        case began(before: Instant)
        /// The process has exited.
        case lost
    }

    private let hold: Hold

    init(of connection: Connection) {
        let descriptor = connection.descriptor.map { socket in
            let process = hardening_peer_process(socket)
            return process < 0 && errno == ENOPROTOOPT ? CInt.min : process
        }
        switch descriptor {
        case let descriptor? where descriptor >= 0: hold = .descriptor(descriptor)
        case CInt.min: hold = .began(before: connection.caller.acceptedAt)
        default: hold = .lost
        }
    }

    /// Returns whether `facts`, obtained just now, describe the peer.
    ///
    /// The peer is still running, so no other process had its number.
    func matches(_ facts: PeerIdentity) -> Bool {
        switch hold {
        case .descriptor(let descriptor):
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return unsafe poll(&event, 1, 0) == 0
        case .began(let moment): return facts.startedAt <= moment
        case .lost: return false
        }
    }

    func close() {
        if case .descriptor(let descriptor) = hold { _ = Glibc.close(descriptor) }
    }
}
