// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The locations of other programs and their configuration for this user.
struct ClientPaths {
    let home: String
    /// The directories of `PATH`.
    let path: [String]

    init() throws(AgentError) {
        guard let home = AgentPaths.variable("HOME"), home.hasPrefix("/") else {
            throw AgentError(
                .misconfigured,
                "HOME is not an absolute path",
                remedy: .set("HOME to your home directory")
            )
        }
        self.home = home
        path = (AgentPaths.variable("PATH") ?? "").split(separator: ":").map(String.init)
    }

    /// Returns the file named by a variable, else `usual`, which is relative to the home directory unless it
    /// is absolute.
    func file(_ variable: String, _ usual: String) -> String {
        ClientPaths.absolute(variable) ?? (usual.hasPrefix("/") ? usual : "\(home)/\(usual)")
    }

    /// Returns the path of a file in the user's configuration directory.
    func configuration(_ name: String) -> String {
        (ClientPaths.absolute("XDG_CONFIG_HOME") ?? home + "/.config") + "/" + name
    }

    /// Returns the first of `files` that exists, else the first of all.
    func present(_ files: [String]) -> String {
        files.first { unsafe access($0, F_OK) == 0 } ?? files[0]
    }

    /// Returns the path of a program in `PATH`, or `nil`.
    func program(_ name: String) -> String? {
        path.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }.first { unsafe access($0, X_OK) == 0 }
    }

    /// The directory for this user's own programs: the first usual one in `PATH`.
    var programDirectory: String {
        let usual = [home + "/.local/bin", home + "/bin"]
        return usual.first { path.contains($0) } ?? usual[0]
    }

    private static func absolute(_ variable: String) -> String? {
        AgentPaths.variable(variable).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
