// SPDX-License-Identifier: MIT

/// What is found of a process, as it travels to the agent; `PeerIdentity` there says what it means.
///
/// As the output of a ``CommandReply``: start in nanoseconds since boot (8), unit, image, `proxy` if it is the proxy, name,
/// executable, the count of callers (1) and each of them, then path and digest of each program, every string after its
/// length; what is not known is empty.
package struct ProcessIdentity: Equatable, Sendable {
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
    /// What the process calls itself.
    package var name: String
    /// The path of its own program; `nil` if this process may not look at it.
    package var executable: String?
    /// If it is `tokenctl`, the paths of the programs that started it, the nearest first.
    package var callers: [String]

    package init(
        programs: [Program],
        unit: String?,
        startedAt: Int64,
        image: String?,
        isProxy: Bool,
        name: String = "",
        executable: String? = nil,
        callers: [String] = []
    ) {
        self.name = name
        self.executable = executable
        self.callers = callers
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
        writer.append(name)
        writer.append(executable ?? "")
        writer.append(UInt8(clamping: callers.count))
        for caller in callers { writer.append(caller) }
        for program in programs {
            writer.append(program.executable)
            writer.append(program.digest ?? "")
        }
        return writer.bytes
    }

    package init?(encoded bytes: [UInt8]) {
        var reader = FrameReader(bytes)
        guard let start: Int64 = reader.integer(), let unit = reader.string(),
            let image = reader.string(), let role = reader.string(), let name = reader.string(),
            let executable = reader.string(), let count: UInt8 = reader.integer()
        else { return nil }
        var callers: [String] = []
        for _ in 0..<count {
            guard let caller = reader.string() else { return nil }
            callers.append(caller)
        }
        self.init(
            programs: [],
            unit: unit.isEmpty ? nil : unit,
            startedAt: start,
            image: image.isEmpty ? nil : image,
            isProxy: !role.isEmpty,
            name: name,
            executable: executable.isEmpty ? nil : executable,
            callers: callers
        )
        while !reader.isAtEnd {
            guard let executable = reader.string(), let digest = reader.string() else { return nil }
            programs.append(Program(executable: executable, digest: digest.isEmpty ? nil : digest))
        }
    }
}
