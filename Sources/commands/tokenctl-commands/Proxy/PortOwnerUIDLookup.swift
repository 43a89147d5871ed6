// SPDX-License-Identifier: MIT

import Glibc
import Text

/// A TCP port of a loopback address, and the user who owns it.
struct PortOwnerUIDLookup {
    private let isIPv6: Bool
    /// The form in `/proc/net/tcp`: address and port in hexadecimal digits.
    private let entry: String

    /// Parses `127.0.0.1:PORT` or `[::1]:PORT`, or returns `nil` for a path and for port 0.
    init?(_ listen: String) {
        guard let colon = listen.lastIndex(of: ":"), !listen.hasPrefix("/"),
            let port = UInt16(listen[listen.index(after: colon)...]), port != 0
        else { return nil }
        let host = listen[..<colon]
        isIPv6 = host.hasPrefix("[")
        let text = isIPv6 ? String(host.dropFirst().dropLast()) : String(host)
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        guard unsafe inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &bytes) == 1 else { return nil }
        // The address is in words of four bytes, each in the byte order of this machine, which is
        // little-endian.
        let address = stride(from: 0, to: bytes.count, by: 4).map {
            Hex.encoded(bytes[$0..<($0 + 4)].reversed())
        }
        let (high, low) = (UInt8(port >> 8), UInt8(truncatingIfNeeded: port))
        entry = (address.joined() + ":" + Hex.encoded([high, low])).uppercased()
    }

    /// Returns the address in `listen` with port 0, which selects any free port.
    static func any(at listen: String) -> String {
        (listen.lastIndex(of: ":").map { String(listen[..<$0]) } ?? listen) + ":0"
    }

    /// The user whose process listens at the port, or `nil` if there is none or the kernel does not report
    /// it.
    var owner: uid_t? {
        guard let table = PortOwnerUIDLookup.contents(of: isIPv6 ? "/proc/net/tcp6" : "/proc/net/tcp") else {
            return nil
        }
        let (listening, local, state, user) = ("0A", 1, 3, 7)
        for line in table.split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ")
            guard columns.count > user, columns[local] == entry, columns[state] == listening else { continue }
            return uid_t(columns[user])
        }
        return nil
    }

    private static func contents(of path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(file, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
