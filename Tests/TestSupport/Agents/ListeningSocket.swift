// SPDX-License-Identifier: MIT

/// A TCP socket on which a process listens, from the kernel's list in `/proc/net`.
package struct ListeningSocket: Hashable, Sendable {
    /// The inode number, which no later socket has.
    ///
    /// The kernel may assign the port again at once.
    package let inode: String

    /// The address in the kernel's notation: `0100007F` is 127.0.0.1.
    package let address: String

    package let port: Int

    /// Returns the listening sockets of the process `pid`, or those of the tests for `"self"`.
    package static func all(ofProcess pid: some CustomStringConvertible) -> [Self] {
        let own = inodes(ofProcess: pid)
        return ["tcp", "tcp6"].flatMap { File.text("/proc/net/\($0)")?.split(separator: "\n") ?? [] }
            .compactMap(Self.init(row:))
            .filter { own.contains($0.inode) }
    }

    /// Returns the inode numbers of all sockets of the process `pid`.
    package static func inodes(ofProcess pid: some CustomStringConvertible) -> Set<String> {
        let links = File.names(in: "/proc/\(pid)/fd").compactMap { File.linkTarget("/proc/\(pid)/fd/\($0)") }
        return Set(
            links.compactMap { $0.hasPrefix("socket:[") ? String($0.dropFirst(8).dropLast()) : nil }
        )
    }

    private init?(row: Substring) {
        let fields = row.split(separator: " ")
        guard fields.count > 9, fields[3] == "0A" else { return nil }
        let end = fields[1].split(separator: ":")
        guard end.count == 2, let port = Int(end[1], radix: 16) else { return nil }
        inode = String(fields[9])
        address = String(end[0])
        self.port = port
    }
}
