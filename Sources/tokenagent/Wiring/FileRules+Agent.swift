// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Confinement
import Glibc
import OAuthClient
import SealedStore

/// The one place that says which files a running agent needs.
extension FileRules {
    /// - Parameters:
    ///   - places: where this agent's own files are; their directories exist by now.
    ///   - settings: may name certificates and secrets outside of those directories.
    ///   - slots: may name key files.
    ///   - environment: what the service manager hands over.
    init(
        _ places: AgentLocations,
        _ settings: Settings,
        slots: [SlotDescription],
        _ environment: [String: String]
    ) {
        let own = [places.stateDirectory, places.runtimeDirectory].compactMap(\.self)
        let sockets = [places.socket] + settings.sockets.map(\.path)
        self.init(
            readable: FileRules.system,
            writable: own + ["/dev/null"] + sockets.map(ListeningSocket.lockPath(of:)),
            socketDirectories: sockets.map(\.directory),
            fileDirectories: settings.files.map(\.path).filter(TokenFileTarget.prepareDirectory).map(
                \.directory
            ),
            reachesAbstractSockets: environment["NOTIFY_SOCKET"]?.hasPrefix("@") ?? false
        )
        let personal = PersonalDirectories(places)
        let roots = [environment[CertificateVariable.name]].compactMap(\.self).filter { $0.hasPrefix("/") }
        for file in [places.configuration.path] + settings.files(slots) + roots {
            readable += personal.readable(for: file)
        }
        readable += [places.configuration.sessionDirectory, environment["CREDENTIALS_DIRECTORY"]]
            .compactMap(\.self)
    }

    /// What libraries read, and what the kernel says about this machine and about peers.
    private static let system = namesAndCertificates + ["/proc", "/sys/fs/cgroup"]
}

extension Settings {
    /// Files that are read again and again while the agent runs.
    fileprivate func files(_ slots: [SlotDescription]) -> [String] {
        let keyFiles = slots.compactMap { slot in
            if case .keyFile(let path) = slot.source { path } else { nil }
        }
        return [vault.keyFile].compactMap(\.self) + keyFiles + proxy.files.map(\.path)
            + (fleet?.files.map(\.path) ?? [])
            + sessions.flatMap { $0.files.map(\.path) }
    }
}

/// Directories that hold many files that are none of the agent's business.
private struct PersonalDirectories {
    private let paths: [String]

    init(_ places: AgentLocations) {
        let configurations = places.configuration.path.directory.directory
        paths = [places.home, configurations].compactMap { $0?.resolved }
    }

    /// `file` and its directory, so that it may be replaced; no directory that is or holds a personal one.
    func readable(for file: String) -> [String] {
        let directories = [file.directory, file.resolved?.directory].compactMap { $0?.resolved }
        return [file]
            + directories.filter { directory in
                !paths.contains { ($0 + "/").hasPrefix(directory == "/" ? "/" : directory + "/") }
            }
    }
}

extension String {
    fileprivate var directory: String { ListeningSocket.directory(of: self) }

    /// The path without symbolic links; `nil` when nothing is there.
    fileprivate var resolved: String? {
        guard let path = unsafe realpath(self, nil) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
