// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import Confinement
import Glibc
import OAuthClient
import SealedStore

/// The only definition of the files that a running agent needs.
extension FileRules {
    /// Creates the rules for the agent.
    ///
    /// - Parameters:
    ///   - places: The paths of this agent's own files, whose directories exist by now.
    ///   - settings: The settings, which may name certificates and secrets outside of those directories.
    ///   - slots: The store's slots, which may name key files.
    ///   - environment: The environment with the variables of the service manager.
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
        let personal = UnreadableDirectories(places)
        let roots = [environment[CertificateVariable.name]].compactMap(\.self).filter { $0.hasPrefix("/") }
        for file in [places.configuration.path] + settings.files(slots) + roots {
            readable += personal.readable(for: file)
        }
        readable += [places.configuration.sessionDirectory, environment["CREDENTIALS_DIRECTORY"]]
            .compactMap(\.self)
        readable += ProviderCatalogue(beside: places.configuration.path).directories
    }

    /// The files that libraries read, and the kernel's files about this machine and about peers.
    private static let system = namesAndCertificates + ["/proc", "/sys/fs/cgroup"]
}

extension Settings {
    /// Returns the files that are read repeatedly while the agent runs.
    fileprivate func files(_ slots: [SlotDescription]) -> [String] {
        let keyFiles = slots.compactMap { slot in
            if case .keyFile(let path) = slot.source { path } else { nil }
        }
        return [vault.keyFile].compactMap(\.self) + keyFiles + proxy.files.map(\.path)
            + (fleet?.files.map(\.path) ?? [])
            + sessions.flatMap { $0.files.map(\.path) }
    }
}

/// The directories with many files that the agent must not read.
private struct UnreadableDirectories {
    private let paths: [String]

    init(_ places: AgentLocations) {
        let configurations = places.configuration.path.directory.directory
        paths = [places.home, configurations].compactMap { $0?.resolved }
    }

    /// Returns `file` and its directory, so that the file may be replaced.
    ///
    /// A directory that is or contains a personal one is left out.
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

    /// The path without symbolic links, or `nil` if it does not exist.
    fileprivate var resolved: String? {
        guard let path = unsafe realpath(self, nil) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
