// SPDX-License-Identifier: MIT

/// The contents of a store's lock file, from which the start of another agent learns about the running one.
///
/// The process ID and the socket path, each followed by a line feed. If the last line feed is missing, the
/// contents are incomplete. They may be used only to query that agent.
package struct LockFileContents: Equatable, Sendable {
    /// The maximum size in bytes: a socket path has at most 107.
    package static let maximumCount = 127

    package var pid: Int32
    package var socket: String?

    package init(pid: Int32, socket: String?) {
        self.pid = pid
        self.socket = socket
    }

    /// Parses the contents of a lock file, or returns `nil` if `bytes` are not valid.
    package init?(_ bytes: [UInt8]) {
        let lineBreak = UInt8(ascii: "\n")
        guard bytes.count <= LockFileContents.maximumCount, let end = bytes.firstIndex(of: lineBreak),
            let pid = Int32(String(decoding: bytes[..<end], as: UTF8.self)), pid > 0
        else { return nil }
        self.init(pid: pid, socket: nil)
        // The path itself may contain line feeds.
        let path = bytes[(end + 1)...]
        guard path.first == UInt8(ascii: "/"), path.last == lineBreak, !path.contains(0) else { return }
        socket = String(validating: path.dropLast(), as: UTF8.self)
    }

    package var bytes: [UInt8] { Array("\(pid)\n\(socket.map { $0 + "\n" } ?? "")".utf8) }
}
