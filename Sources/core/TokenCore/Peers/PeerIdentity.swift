// SPDX-License-Identifier: MIT

/// The known facts about the process at the other end of a connection.
package struct PeerIdentity: Equatable, Sendable {
    /// A program that the peer represents.
    package struct Program: Equatable, Sendable {
        /// The absolute path without symbolic links.
        package var executable: String
        /// The SHA-256 of the executable's bytes, or `nil` if it was not requested or is unreadable.
        ///
        /// It has 64 lower-case hexadecimal digits.
        package var digest: String?

        package init(executable: String, digest: String? = nil) {
            self.executable = executable
            self.digest = digest
        }
    }

    /// The peer's own program and, for `tokenctl`, the programs that started it, the nearest first.
    ///
    /// If `tokenctl` replaced itself by another program (`exec`), `tokenctl` precedes the programs that
    /// started it.
    package var programs: [Program]
    /// The systemd unit that the peer runs in.
    package var unit: String?
    /// Whether the peer is the program that serves `[[proxy]]` and `[[endpoint]]`.
    package var isProxy: Bool
    /// The listener that the peer serves, from an active configuration table, or `nil` if none.
    package var listener: String?
    /// The start time of the process, to 10 ms.
    ///
    /// It distinguishes the process from a later one with the same number.
    package var startedAt: Instant
    /// The device and inode of the peer's executable file, or `nil` if unknown.
    ///
    /// They are known even where the path is not. If they cannot be read, it is `?` and the process's name.
    package var image: String?
    /// The name that the process chose for itself, or `nil` if unknown.
    ///
    /// Any process may choose any name.
    package var name: String?
    /// The path of the peer's own program, or `nil` if it prevents inspection, as `tokenctl` does.
    package var executable: String?
    /// The paths of the programs that started the peer, the nearest first, if the peer is `tokenctl`.
    package var callers: [String]

    package init(
        programs: [Program],
        unit: String?,
        startedAt: Instant,
        image: String? = nil,
        isProxy: Bool = false,
        name: String? = nil,
        executable: String? = nil,
        callers: [String] = []
    ) {
        self.name = name
        self.executable = executable
        self.callers = callers
        self.programs = programs
        self.unit = unit
        self.isProxy = isProxy
        self.startedAt = startedAt
        self.image = image
    }

    /// Returns whether `other` is the same process, running the same program in the same unit.
    package func isSameProgram(as other: PeerIdentity) -> Bool {
        startedAt == other.startedAt && image == other.image && unit == other.unit
    }

    /// Returns the facts that a later inspection confirms, or `nil` if the process now runs another program.
    ///
    /// Only programs found both times remain.
    package func confirmed(by later: PeerIdentity) -> PeerIdentity? {
        guard isSameProgram(as: later) else { return nil }
        var facts = later
        facts.isProxy = isProxy && later.isProxy
        facts.programs = later.programs.filter { found in
            programs.contains { $0.executable.utf8.elementsEqual(found.executable.utf8) }
        }
        return facts
    }
}

/// The port for inspecting processes.
package protocol ProcessExamining: Sendable {
    /// Inspects the process with this number.
    ///
    /// The process may have ended meanwhile. The caller checks afterwards that the number still belongs to
    /// the intended process.
    ///
    /// - Parameters:
    ///   - process: a process identifier.
    ///   - digested: the paths of executables whose digests are required. No others are read.
    /// - Returns: the known facts.
    /// - Throws: ``CommandFailure`` if there is no such process, or no program to inspect it.
    func examine(
        _ process: Int32,
        digesting digested: Set<String>
    ) async throws(CommandFailure) -> PeerIdentity
}
