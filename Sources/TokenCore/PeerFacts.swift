// SPDX-License-Identifier: MIT

/// What is known about the process at the other end of a connection.
package struct PeerFacts: Equatable, Sendable {
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

    /// The peer's own program; behind it, when the peer is `tokenctl`, those that started it, the nearest first.
    package var programs: [Program]
    /// The systemd unit the peer runs in.
    package var unit: String?
    /// When the process began, to 10 ms: what tells it from a later one with the same number.
    package var startedAt: Instant

    package init(programs: [Program], unit: String?, startedAt: Instant) {
        self.programs = programs
        self.unit = unit
        self.startedAt = startedAt
    }
}

/// Finds out what a process is.
package protocol ProcessExamining: Sendable {
    /// Looks at the process with this number, which may have ended meanwhile: whoever asks makes sure afterwards
    /// that it is still the one that was meant.
    ///
    /// - Parameters:
    ///   - process: a process identifier.
    ///   - digested: paths of executables whose digests are wanted; no others are read.
    /// - Returns: what there is to know.
    /// - Throws: ``CommandFailure`` when there is no such process, or nobody to look.
    func examine(_ process: Int32, digesting digested: Set<String>) async throws(CommandFailure) -> PeerFacts
}
