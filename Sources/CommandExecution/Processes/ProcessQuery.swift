// SPDX-License-Identifier: MIT

import TokenCore

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

extension PeerFacts {
    /// As the output of a ``CommandReply``: start in nanoseconds since boot (8), unit, image, `proxy` if it is the proxy,
    /// then path and digest of each program, every string after its length; what is not known is empty.
    package var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.append(startedAt.nanoseconds)
        writer.append(unit ?? "")
        writer.append(image ?? "")
        writer.append(isProxy ? "proxy" : "")
        for program in programs {
            writer.append(program.executable)
            writer.append(program.digest ?? "")
        }
        return writer.bytes
    }

    package init?(encoded bytes: [UInt8]) {
        var reader = FrameReader(bytes)
        guard let start: Int64 = reader.integer(), let unit = reader.string(),
            let image = reader.string(), let role = reader.string()
        else { return nil }
        self.init(
            programs: [],
            unit: unit.isEmpty ? nil : unit,
            startedAt: Instant(nanoseconds: start),
            image: image.isEmpty ? nil : image,
            isProxy: !role.isEmpty
        )
        while !reader.isAtEnd {
            guard let executable = reader.string(), let digest = reader.string() else { return nil }
            programs.append(Program(executable: executable, digest: digest.isEmpty ? nil : digest))
        }
    }
}
