// SPDX-License-Identifier: MIT

/// A question about a process, as it travels to the runner process, which is not confined as the agent is.
///
/// On the wire: payload length (4), ``RunnerFrame/examine`` (1), number (8), the process identifier (4) and the paths
/// of executables whose digests are wanted, each after its length (4).
package struct ProcessQuery: Equatable, Sendable {
    package var number: UInt64
    package var process: Int32
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

    /// Reads the payload of a frame after its first byte; `nil` when it is not such a question.
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
