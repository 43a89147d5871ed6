// SPDX-License-Identifier: MIT

/// The identity of a process, sent to the agent, where `PeerIdentity` explains the members.
///
/// Encoding, as the output of a ``CommandReply``: start in nanoseconds since boot (8 bytes), unit, image,
/// `proxy` if the process is the proxy, name, executable, the count of callers (1) and each of them, then
/// path and digest of each program. Every string follows its length (4); unknown strings are empty.
package struct ProcessDescription: Equatable, Sendable {
    /// A program with its path and digest.
    package struct Program: Equatable, Sendable {
        /// The absolute path without symbolic links.
        package var executable: String
        /// The SHA-256 of the executable in 64 lower-case hexadecimal digits, or `nil` if not requested or
        /// unreadable.
        package var digest: String?

        package init(executable: String, digest: String? = nil) {
            self.executable = executable
            self.digest = digest
        }
    }

    /// The programs to which rules may apply: the process's own, and for `tokenctl` also its callers.
    package var programs: [Program]
    /// The systemd unit, or `nil` if unknown.
    package var unit: String?
    /// The start time in nanoseconds since boot.
    package var startedAt: Int64
    /// The device and inode of the process's executable file, or `nil` if unknown.
    ///
    /// If the runner process may not read them, it is `?` and the name of the process.
    package var image: String?
    /// Whether the process is `tokenagent-proxy`.
    package var isProxy: Bool
    /// The name that the process gave itself.
    package var name: String
    /// The path of the process's own program, or `nil` if the runner may not read it.
    package var executable: String?
    /// The paths of the programs that started the process, nearest first, if the process is `tokenctl`.
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

    /// Decodes an identity, or returns `nil` if the bytes are not valid.
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
