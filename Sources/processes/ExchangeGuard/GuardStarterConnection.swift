// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The agent's connection to the process that starts a guard for each exchange.
package final class GuardStarterConnection: Sendable {
    private let socket: Int32

    /// Takes over `socket`, our end of the pair whose other end the starting process listens at.
    package init(socket: Int32) {
        self.socket = socket
    }

    deinit {
        close(socket)
    }

    /// Asks for a guard, which starts while the caller does something else.
    ///
    /// - Returns: `nil` if there is nobody who could start one.
    package func ask() -> GuardLink? {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        defer { close(ends[1]) }
        let link = GuardLink(descriptor: ends[0])
        let sent = unsafe hardening_send_descriptors(socket, [1], 1, [ends[1]], 1)
        return sent == 1 ? link : nil
    }
}

/// Our end of the socket pair to one guard; closed when it is gone, unless it was given away.
package final class GuardLink: @unchecked Sendable {
    // Unchecked: whoever has the link uses it in one place after the other.
    private var descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Hands the guard its connection and the file of the answer, copies of both.
    ///
    /// - Returns: whether there is a guard still.
    package func hand(_ order: GuardHandoverMessage, connection: Int32, file: Int32?) -> Bool {
        let frame = order.frame
        let descriptors = [connection] + (file.map { [$0] } ?? [])
        return unsafe hardening_send_descriptors(
            descriptor,
            frame,
            frame.count,
            descriptors,
            Int32(descriptors.count)
        ) == frame.count
    }

    /// Gives the socket away; the caller closes it.
    package func take() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }
}
