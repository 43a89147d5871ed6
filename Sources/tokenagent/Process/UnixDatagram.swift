// SPDX-License-Identifier: MIT

import Glibc

/// The messages to datagram sockets of the system, such as the service manager's and the journal's.
enum UnixDatagram {
    /// Sends `message` to the socket at `path` without waiting.
    ///
    /// A path that begins with `@` is an abstract name.
    ///
    /// - Returns: `true` if the message was received.
    @discardableResult
    static func send(_ message: [UInt8], to path: String) -> Bool {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let address = address(path)
        let sent = unsafe address.withUnsafeBytes { bytes in
            unsafe bytes.withMemoryRebound(to: sockaddr.self) { address in
                unsafe sendto(
                    descriptor,
                    message,
                    message.count,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                    address.baseAddress,
                    socklen_t(bytes.count)
                )
            }
        }
        return sent == message.count
    }

    /// Returns a `sockaddr_un` of exactly the path's length: an abstract name begins with NUL and has no
    /// terminator.
    private static func address(_ path: String) -> [UInt8] {
        let family = unsafe withUnsafeBytes(of: sa_family_t(AF_UNIX)) { unsafe Array($0) }
        var name = Array(path.utf8)
        if name.first == UInt8(ascii: "@") { name[0] = 0 }
        return family + name
    }
}
