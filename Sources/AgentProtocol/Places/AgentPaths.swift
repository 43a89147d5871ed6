// SPDX-License-Identifier: MIT

import Glibc

/// The paths of the agent's files, which are the same for the agent and all its clients.
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
///
/// `$XDG_RUNTIME_DIR` also counts as unset if it is missing or belongs to another user, as after a logout or
/// with the environment that `sudo -u` passes on: it cannot contain files of this user then. A client that
/// finds no agent at its own path reads the other path from the store's lock file, see ``AgentConnection``.
public struct AgentPaths: Equatable, Sendable {
    /// The path of the socket, at most ``maximumSocketPathLength`` bytes.
    public let socket: String
    /// The directory of the sealed store.
    public let stateDirectory: String
    /// The directory that survives a crash but not a reboot, or `nil` if this user has none.
    public let runtimeDirectory: String?
    /// The path of the configuration file, which need not exist.
    public let configuration: String

    /// The maximum number of bytes of a socket's path without its NUL: 107 on Linux (unix(7)).
    public static let maximumSocketPathLength = 107

    /// Determines the paths from the environment.
    ///
    /// - Parameters:
    ///   - stateDirectory: The state directory instead of the environment's, as `--state-dir` sets it.
    ///   - environment: A closure that looks up one variable. Default: the environment of this process.
    /// - Throws: ``AgentError`` with the code `misconfigured` if a variable contains a relative path, the
    ///   socket's path is too long, or `HOME` is needed but not set.
    public init(
        stateDirectory: String? = nil,
        environment: (String) -> String? = AgentPaths.variable
    ) throws(AgentError) {
        let state =
            if let stateDirectory { stateDirectory } else { try AgentPaths.stateDirectory(environment) }
        self.stateDirectory = state
        configuration = try AgentPaths.configuration(environment: environment)
        let runtimeDirectory = AgentPaths.runtimeDirectory(environment)
        self.runtimeDirectory = runtimeDirectory
        socket = try AgentPaths.socket(environment, runtimeDirectory) { () throws(AgentError) in state }
    }

    /// Returns only the path of the socket, for a client that needs nothing else.
    ///
    /// - Parameter environment: A closure that looks up one variable. Default: the environment of this
    ///   process.
    /// - Returns: An absolute path of at most ``maximumSocketPathLength`` bytes.
    /// - Throws: ``AgentError`` with the code `misconfigured`.
    public static func socket(
        environment: (String) -> String? = AgentPaths.variable
    ) throws(AgentError) -> String {
        try socket(environment, runtimeDirectory(environment)) { () throws(AgentError) in
            try stateDirectory(environment)
        }
    }

    /// Returns only the path of the configuration file.
    ///
    /// - Parameter environment: A closure that looks up one variable. Default: the environment of this
    ///   process.
    /// - Returns: An absolute path of a file that need not exist.
    /// - Throws: ``AgentError`` with the code `misconfigured`.
    public static func configuration(
        environment: (String) -> String? = AgentPaths.variable
    ) throws(AgentError) -> String {
        if let path = try absolute("TOKENAGENT_CONFIG", environment) { return path }
        if let directory = try directory("XDG_CONFIG_HOME", environment) {
            return directory + "/tokenagent/config.toml"
        }
        return try home(environment, orElse: "TOKENAGENT_CONFIG") + "/.config/tokenagent/config.toml"
    }

    /// Checks that `path` can be the address of a socket.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if it is longer than ``maximumSocketPathLength``,
    ///   contains a NUL, or is empty.
    public static func checkSocketPath(_ path: String) throws(AgentError) {
        guard path.utf8.count <= maximumSocketPathLength else {
            throw AgentError(.pathTooLong(socket: path))
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw AgentError(.misconfigured, "the socket path is empty or contains a NUL byte")
        }
    }

    /// Looks up a variable in the environment of this process.
    public static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}

extension AgentPaths {
    /// Returns whether the environment names the socket, so that no other one is tried.
    package static func namesSocket(_ environment: (String) -> String? = variable) -> Bool {
        environment("TOKENAGENT_SOCK")?.isEmpty == false
    }

    /// Returns the unit of systemd that serves `socket`, `tokenagent@NAME` for `/run/tokenagent/NAME/agent.sock`, or
    /// `nil` for a socket elsewhere.
    package static func systemUnit(of socket: String) -> String? {
        let parts = socket.bytewise.split(on: "/", omittingEmpty: false)
        guard parts.count == 5, parts[1] == "run", parts[2] == "tokenagent", parts[4] == "agent.sock" else {
            return nil
        }
        return "tokenagent@\(parts[3])"
    }

    /// Returns ``socket(environment:)`` without checking the runtime directory.
    ///
    /// That is sufficient for a client that connects there, as it rejects a server of another user.
    static func uncheckedSocket(_ environment: (String) -> String? = variable) throws(AgentError) -> String {
        try socket(environment, try? directory("XDG_RUNTIME_DIR", environment)) { () throws(AgentError) in
            try stateDirectory(environment)
        }
    }

    /// Returns the existing socket: the usual one, or the one in the lock file of the store's agent.
    ///
    /// - Returns: The usual path if no socket is at either.
    /// - Throws: ``AgentError`` with the code `misconfigured`.
    package static func presentSocket() throws(AgentError) -> String {
        let usual = try socket()
        guard !namesSocket(), unsafe access(usual, F_OK) != 0,
            let state = try? stateDirectory(variable), let noted = StoreLockFile(of: state)?.note?.socket,
            unsafe access(noted, F_OK) == 0
        else { return usual }
        return noted
    }

    private static func socket(
        _ environment: (String) -> String?,
        _ runtimeDirectory: String?,
        state: () throws(AgentError) -> String
    ) throws(AgentError) -> String {
        let path =
            if let path = try absolute("TOKENAGENT_SOCK", environment) {
                path
            } else if let runtimeDirectory {
                runtimeDirectory + "/tokenagent/agent.sock"
            } else {
                socket(inState: try state())
            }
        try checkSocketPath(path)
        return path
    }

    /// Returns the socket of an agent without a runtime directory.
    package static func socket(inState directory: String) -> String { directory + "/run/agent.sock" }

    private static func runtimeDirectory(_ environment: (String) -> String?) -> String? {
        guard let path = try? directory("XDG_RUNTIME_DIR", environment) else { return nil }
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
            status.st_uid == geteuid()
        else { return nil }
        return path
    }

    static func stateDirectory(_ environment: (String) -> String?) throws(AgentError) -> String {
        if let path = try absolute("TOKENAGENT_STATE_DIR", environment) { return path }
        // systemd sets a list if the unit names several directories. The agent's is the first.
        if let list = environment("STATE_DIRECTORY"),
            let first = list.split(separator: ":").first, first.hasPrefix("/")
        {
            return String(first)
        }
        if let directory = try directory("XDG_STATE_HOME", environment) { return directory + "/tokenagent" }
        return try home(environment, orElse: "TOKENAGENT_STATE_DIR") + "/.local/state/tokenagent"
    }

    /// Returns a variable of tokenagent, which must be absolute if it is set.
    private static func absolute(
        _ name: String,
        _ environment: (String) -> String?
    ) throws(AgentError) -> String? {
        guard let value = environment(name), !value.isEmpty else { return nil }
        guard value.hasPrefix("/") else {
            throw AgentError(.misconfigured, "\(name) is not an absolute path: \(value)")
        }
        return try text(value, of: name)
    }

    /// Returns a variable of the XDG specification, which is ignored unless it is absolute.
    private static func directory(
        _ name: String,
        _ environment: (String) -> String?
    ) throws(AgentError) -> String? {
        guard let value = environment(name), value.hasPrefix("/") else { return nil }
        return try text(value, of: name)
    }

    /// Checks that a path is UTF-8, so that the configuration and JSON can contain it.
    ///
    /// A replacement character marks each invalid byte, and nothing would be found at such a path.
    private static func text(_ value: String, of name: String) throws(AgentError) -> String {
        guard value.utf8.contains(0xEF), value.unicodeScalars.contains("\u{FFFD}") else { return value }
        throw AgentError(
            .misconfigured,
            "\(name) is not UTF-8: \(value)",
            remedy: name == "HOME"
                ? .set("TOKENAGENT_CONFIG and TOKENAGENT_STATE_DIR to paths in UTF-8")
                : .set("\(name) to a path in UTF-8")
        )
    }

    /// Returns the home directory, which would not be needed if `variable` were set.
    private static func home(
        _ environment: (String) -> String?,
        orElse variable: String
    ) throws(AgentError) -> String {
        guard let home = try absolute("HOME", environment) else {
            throw AgentError(.misconfigured, "HOME is not set", remedy: .set("HOME or \(variable)"))
        }
        return home
    }
}
