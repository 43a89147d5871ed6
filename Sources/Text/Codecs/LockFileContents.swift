// SPDX-License-Identifier: MIT

/// What the agent that holds a store writes into its lock file, so that the start of another finds it.
///
/// The process number and the path of the socket, each followed by a line break: if the last one is missing,
/// the note was not written to its end. It may be used for nothing but asking that agent.
package struct LockFileContents: Equatable, Sendable {
    /// Anything longer is not a note: the path of a socket has at most 107 bytes.
    package static let largestCount = 127

    package var pid: Int32
    package var socket: String?

    package init(pid: Int32, socket: String?) {
        self.pid = pid
        self.socket = socket
    }

    /// Reads a note; `nil` when `bytes` is not one.
    package init?(_ bytes: [UInt8]) {
        let lineBreak = UInt8(ascii: "\n")
        guard bytes.count <= LockFileContents.largestCount, let end = bytes.firstIndex(of: lineBreak),
            let pid = Int32(String(decoding: bytes[..<end], as: UTF8.self)), pid > 0
        else { return nil }
        self.init(pid: pid, socket: nil)
        // The path may hold line breaks of its own.
        let path = bytes[(end + 1)...]
        guard path.first == UInt8(ascii: "/"), path.last == lineBreak, !path.contains(0) else { return }
        socket = String(validating: path.dropLast(), as: UTF8.self)
    }

    package var bytes: [UInt8] { Array("\(pid)\n\(socket.map { $0 + "\n" } ?? "")".utf8) }
}
