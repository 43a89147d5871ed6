// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// Where other programs, and their configuration, are for this user.
struct ClientPlaces {
    let home: String
    /// The directories of `PATH`.
    let path: [String]

    init() throws(AgentError) {
        guard let home = AgentPaths.variable("HOME"), home.hasPrefix("/") else {
            let remedy = "set it to your home directory"
            throw AgentError(.misconfigured, "HOME is not an absolute path", remedy: remedy)
        }
        self.home = home
        path = (AgentPaths.variable("PATH") ?? "").split(separator: ":").map(String.init)
    }

    /// The file that a variable names, else `usual`, which is below the home directory unless it is absolute.
    func file(_ variable: String, _ usual: String) -> String {
        ClientPlaces.absolute(variable) ?? (usual.hasPrefix("/") ? usual : "\(home)/\(usual)")
    }

    /// A file below the user's directory for configuration.
    func configuration(_ name: String) -> String {
        (ClientPlaces.absolute("XDG_CONFIG_HOME") ?? home + "/.config") + "/" + name
    }

    /// The first of `files` that is there, else the first of all.
    func present(_ files: [String]) -> String {
        files.first { unsafe access($0, F_OK) == 0 } ?? files[0]
    }

    /// A program in `PATH`.
    func program(_ name: String) -> String? {
        path.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }

    /// Where this user's own programs go: the first usual directory that `PATH` names.
    var programDirectory: String {
        let usual = [home + "/.local/bin", home + "/bin"]
        return usual.first { path.contains($0) } ?? usual[0]
    }

    private static func absolute(_ variable: String) -> String? {
        AgentPaths.variable(variable).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
