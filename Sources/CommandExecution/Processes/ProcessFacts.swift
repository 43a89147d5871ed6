// SPDX-License-Identifier: MIT

/// What is found of a process, as it travels to the agent; `PeerFacts` there says what it means.
///
/// As the output of a ``CommandReply``: start in nanoseconds since boot (8), unit, image, `proxy` if it is the proxy, then
/// path and digest of each program, every string after its length; what is not known is empty.
package struct ProcessFacts: Equatable, Sendable {
    package struct Program: Equatable, Sendable {
        /// Absolute path, without symbolic links.
        package var executable: String
        /// SHA-256 of the executable's bytes, 64 lower-case hexadecimal digits; `nil`: not asked for, or unreadable.
        package var digest: String?

        package init(executable: String, digest: String? = nil) {
            self.executable = executable
            self.digest = digest
        }
    }

    package var programs: [Program]
    package var unit: String?
    /// Nanoseconds since boot.
    package var startedAt: Int64
    package var image: String?
    package var isProxy: Bool

    package init(programs: [Program], unit: String?, startedAt: Int64, image: String?, isProxy: Bool) {
        self.programs = programs
        self.unit = unit
        self.startedAt = startedAt
        self.image = image
        self.isProxy = isProxy
    }

    package var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.append(startedAt)
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
            startedAt: start,
            image: image.isEmpty ? nil : image,
            isProxy: !role.isEmpty
        )
        while !reader.isAtEnd {
            guard let executable = reader.string(), let digest = reader.string() else { return nil }
            programs.append(Program(executable: executable, digest: digest.isEmpty ? nil : digest))
        }
    }
}
