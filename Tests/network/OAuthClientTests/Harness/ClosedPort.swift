// SPDX-License-Identifier: MIT

import Glibc
import TestSupport

/// A port of the loopback address that is taken and at which nobody listens, so that every connection is refused.
final class ClosedPort {
    let number: UInt16
    private let descriptor: CInt

    init() throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        number = UInt16(bigEndian: address.sin_port)
        guard bound else { throw SystemFailure("bind") }
    }

    deinit {
        close(descriptor)
    }
}
