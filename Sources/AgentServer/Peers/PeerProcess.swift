// SPDX-License-Identifier: MIT

import CHardening
import Glibc
import TokenCore

/// The process that connected, held so that another one with its number is not taken for it.
struct PeerProcess: Sendable {
    private enum Hold {
        /// A descriptor of the process itself (SO_PEERPIDFD, Linux 6.5).
        case descriptor(CInt)
        /// An older kernel: the process must have begun before this.
        case began(before: Instant)
        /// The process is gone.
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

    /// Whether `facts`, found just now, are about the peer: it still runs, so nobody else had its number.
    func isStill(_ facts: PeerIdentity) -> Bool {
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
