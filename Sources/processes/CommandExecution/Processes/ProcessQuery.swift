// SPDX-License-Identifier: MIT

/// A query about a process, sent to the runner process, which is not sandboxed like the agent.
///
/// On the wire: payload length (4 bytes), ``RunnerFrameKind/examine`` (1), number (8), the process ID (4) and the
/// paths of executables whose digests are requested, each after its length (4).
package struct ProcessQuery: Equatable, Sendable {
    package var number: UInt64
    /// The process ID.
    package var process: Int32
    /// The paths of executables whose digests are requested.
    package var digested: Set<String>

    package init(number: UInt64, process: Int32, digested: Set<String> = []) {
        self.number = number
        self.process = process
        self.digested = digested
    }

    package var frame: [UInt8] {
        var payload = ByteWriter()
        payload.append(number)
        payload.append(UInt32(bitPattern: process))
        for path in digested.sorted() { payload.append(path) }
        return payload.framed(as: .examine)
    }

    /// Parses the payload of a frame after its first byte, or returns `nil` if it is not a valid query.
    package init?(payload: [UInt8]) {
        var reader = FrameReader(payload)
        guard let number: UInt64 = reader.integer(), let process: UInt32 = reader.integer()
        else { return nil }
        self.init(number: number, process: Int32(bitPattern: process))
        while !reader.isAtEnd {
            guard let path = reader.string() else { return nil }
            digested.insert(path)
        }
    }
}
