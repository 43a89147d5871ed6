// SPDX-License-Identifier: MIT

import Glibc

/// Where the agent's files are: the same for the agent and everyone who wants to talk to it.
///
/// | What | The first that is set |
/// |---|---|
/// | socket | `$TOKENAGENT_SOCK`, `$XDG_RUNTIME_DIR/tokenagent/agent.sock`, `<state>/run/agent.sock` |
/// | state | `$TOKENAGENT_STATE_DIR`, `$STATE_DIRECTORY`, `$XDG_STATE_HOME/tokenagent`, `~/.local/state/tokenagent` |
/// | configuration | `$TOKENAGENT_CONFIG`, `$XDG_CONFIG_HOME/tokenagent/config.toml`, `~/.config/tokenagent/config.toml` |
///
/// An empty variable counts as unset. A relative XDG directory is ignored (XDG Base Directory Specification),
/// and so is a relative `$STATE_DIRECTORY`. A relative path in any other variable is an error, because the
/// agent and its clients run in different directories.
public struct AgentPaths: Equatable, Sendable {
    /// The socket, at most ``longestSocketPath`` bytes.
    public let socket: String
    /// The directory of the sealed store.
    public let stateDirectory: String
    /// The configuration file, which need not exist.
    public let configuration: String

    /// Bytes of a path that fit into a socket address beside its NUL: 107 on Linux (unix(7)).
    public static let longestSocketPath = 107

    /// Reads the places from the environment.
    ///
    /// - Parameters:
    ///   - stateDirectory: replaces the environment's answer, as `--state-dir` does.
    ///   - environment: looks up one variable. Default: the environment of this process.
    /// - Throws: ``AgentError`` with the code `misconfigured` if a variable holds a relative path, the
    ///   socket's path is too long, or `HOME` is needed but not set.
    public init(
        stateDirectory: String? = nil,
        environment: (String) -> String? = AgentPaths.variable
    ) throws(AgentError) {
        let state =
            if let stateDirectory { stateDirectory } else { try AgentPaths.stateDirectory(environment) }
        self.stateDirectory = state
        configuration = try AgentPaths.configuration(environment: environment)
        socket = try AgentPaths.socket(environment) { () throws(AgentError) in state }
    }

    /// The socket alone, for a client that needs nothing else.
    ///
    /// - Parameter environment: looks up one variable. Default: the environment of this process.
    /// - Returns: an absolute path of at most ``longestSocketPath`` bytes.
    /// - Throws: ``AgentError`` with the code `misconfigured`.
    public static func socket(
        environment: (String) -> String? = AgentPaths.variable
    ) throws(AgentError) -> String {
        try socket(environment) { () throws(AgentError) in try stateDirectory(environment) }
    }

    /// The configuration file alone.
    ///
    /// - Parameter environment: looks up one variable. Default: the environment of this process.
    /// - Returns: an absolute path, of a file that need not exist.
    /// - Throws: ``AgentError`` with the code `misconfigured`.
    public static func configuration(
        environment: (String) -> String? = AgentPaths.variable
    ) throws(AgentError) -> String {
        if let path = try absolute("TOKENAGENT_CONFIG", environment) { return path }
        if let directory = directory("XDG_CONFIG_HOME", environment) {
            return directory + "/tokenagent/config.toml"
        }
        return try home(environment, orElse: "TOKENAGENT_CONFIG") + "/.config/tokenagent/config.toml"
    }

    /// Checks that `path` can be the address of a socket.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if it is longer than ``longestSocketPath``, or
    ///   holds a NUL, or is empty.
    public static func checkSocketPath(_ path: String) throws(AgentError) {
        guard path.utf8.count <= longestSocketPath else {
            throw AgentError(.pathTooLong(socket: path))
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw AgentError(.misconfigured, "the socket path is empty or holds a NUL byte")
        }
    }

    /// Looks up a variable in the environment of this process.
    public static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}

extension AgentPaths {
    private static func socket(
        _ environment: (String) -> String?,
        state: () throws(AgentError) -> String
    ) throws(AgentError) -> String {
        let path =
            if let path = try absolute("TOKENAGENT_SOCK", environment) {
                path
            } else if let runtime = directory("XDG_RUNTIME_DIR", environment) {
                runtime + "/tokenagent/agent.sock"
            } else {
                try state() + "/run/agent.sock"
            }
        try checkSocketPath(path)
        return path
    }

    private static func stateDirectory(_ environment: (String) -> String?) throws(AgentError) -> String {
        if let path = try absolute("TOKENAGENT_STATE_DIR", environment) { return path }
        // systemd gives a list when the unit names several directories; ours is the first.
        if let list = environment("STATE_DIRECTORY"),
            let first = list.split(separator: ":").first, first.hasPrefix("/")
        {
            return String(first)
        }
        if let directory = directory("XDG_STATE_HOME", environment) { return directory + "/tokenagent" }
        return try home(environment, orElse: "TOKENAGENT_STATE_DIR") + "/.local/state/tokenagent"
    }

    /// A variable of ours, which must be absolute if it is set.
    private static func absolute(
        _ name: String,
        _ environment: (String) -> String?
    ) throws(AgentError) -> String? {
        guard let value = environment(name), !value.isEmpty else { return nil }
        guard value.hasPrefix("/") else {
            throw AgentError(.misconfigured, "\(name) is not an absolute path: \(value)")
        }
        return value
    }

    /// A variable of the XDG specification, ignored unless absolute.
    private static func directory(_ name: String, _ environment: (String) -> String?) -> String? {
        guard let value = environment(name), value.hasPrefix("/") else { return nil }
        return value
    }

    /// The home directory; it would not be needed if `variable` were set.
    private static func home(
        _ environment: (String) -> String?,
        orElse variable: String
    ) throws(AgentError) -> String {
        guard let home = try absolute("HOME", environment) else {
            throw AgentError(.misconfigured, "HOME is not set", remedy: "set HOME or \(variable)")
        }
        return home
    }
}
