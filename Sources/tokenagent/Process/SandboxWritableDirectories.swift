// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Confinement
import Glibc
import Text

/// The directories in which the sandbox lets the agent create sockets and token files, as they were at its
/// start.
struct SandboxWritableDirectories: Sendable {
    /// The directories below which both may be created.
    private let own: [String]
    private let sockets: [String]
    private let files: [String]

    /// Creates the directories from the sandbox's rules, or `nil` if the kernel does not restrict access to
    /// files.
    init?(_ rules: FileRules, _ report: ConfinementReport) {
        guard !report.gaps.contains(where: { $0.protection == .files }) else { return nil }
        // Directories that did not exist have no rule.
        own = rules.writable.filter(SandboxWritableDirectories.isDirectory).map(ReservedPaths.resolved)
        sockets = rules.socketDirectories.filter(SandboxWritableDirectories.isDirectory).map(
            ReservedPaths.resolved
        )
        files = rules.fileDirectories.filter(SandboxWritableDirectories.isDirectory).map(
            ReservedPaths.resolved
        )
    }

    /// Returns the sockets and token files of `settings` that only a restarted agent can create.
    func restarts(for settings: Settings) -> [ConfigurationChanges.Restart] {
        let lateSockets = settings.sockets.filter { !isWithin(own + sockets, $0.path) }.map { socket in
            ConfigurationChanges.Restart("socket \(socket.path)", reason: SandboxWritableDirectories.reason)
        }
        let lateFiles = settings.files.filter { !isWithin(own + files, $0.path) }.map { file in
            ConfigurationChanges.Restart(
                "file \(file.path)",
                session: file.session,
                reason: SandboxWritableDirectories.reason
            )
        }
        return lateSockets + lateFiles
    }

    private static let reason = "its directory is outside the running agent's sandbox"

    private func isWithin(_ directories: [String], _ path: String) -> Bool {
        let place = ReservedPaths.place(of: path).bytewise
        return directories.contains { place.hasPrefix(($0 == "/" ? "/" : $0 + "/").bytewise) }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
