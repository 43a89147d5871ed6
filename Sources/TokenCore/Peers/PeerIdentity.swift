// SPDX-License-Identifier: MIT

/// What is known about the process at the other end of a connection.
package struct PeerIdentity: Equatable, Sendable {
    /// A program the peer stands for.
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

    /// The peer's own program; when the peer is `tokenctl`, followed by those that started it, the nearest
    /// first, and before these by `tokenctl` when it is a program that `tokenctl` becomes.
    package var programs: [Program]
    /// The systemd unit the peer runs in.
    package var unit: String?
    /// Whether the peer is the program that serves `[[proxy]]` and `[[endpoint]]`.
    package var isProxy: Bool
    /// The listener for which it asks, by a table that is in force; `nil`: none.
    package var listener: String?
    /// When the process began, to 10 ms, which tells it from a later one with the same number.
    package var startedAt: Instant
    /// Identifies the file that the process executes, even where its path cannot be known; `nil`: unknown.
    package var image: String?
    /// What the process calls itself, which anybody may choose; `nil`: unknown.
    package var name: String?
    /// The path of the peer's own program; `nil` if it keeps others from looking, as `tokenctl` does.
    package var executable: String?
    /// If the peer is `tokenctl`, the paths of the programs that started it, the nearest first.
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

    /// Whether this is the same process, running the same program in the same unit, as `other`.
    package func isSameProgram(as other: PeerIdentity) -> Bool {
        startedAt == other.startedAt && image == other.image && unit == other.unit
    }

    /// The facts that a later look confirms; `nil`: it is another program by now.
    ///
    /// Of the programs, only those found both times stay.
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

/// Finds out what a process is.
package protocol ProcessExamining: Sendable {
    /// Looks at the process with this number, which may have ended meanwhile: the caller makes sure
    /// afterwards that it is still the one that was meant.
    ///
    /// - Parameters:
    ///   - process: a process identifier.
    ///   - digested: paths of executables whose digests are wanted; no others are read.
    /// - Returns: what there is to know.
    /// - Throws: ``CommandFailure`` when there is no such process, or nothing that could look at it.
    func examine(
        _ process: Int32,
        digesting digested: Set<String>
    ) async throws(CommandFailure) -> PeerIdentity
}
