// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings

/// The paths of this agent's files, from the command line or otherwise from the environment.
struct AgentLocations {
    var socket: String
    /// Whether the command line or the environment names the socket.
    let isSocketNamed: Bool
    let stateDirectory: String
    let configuration: ConfigurationFile
    let home: String?
    /// The directory that survives a crash but not a reboot, or `nil` where the system has none.
    let runtimeDirectory: String?

    init(_ options: StartOptions, _ environment: [String: String]) throws(StartFailure) {
        do throws(AgentError) {
            let lookup: (String) -> String? = { name in
                // A socket on the command line replaces the environment's, even one that cannot be used.
                name == "TOKENAGENT_SOCK" ? options.socket ?? environment[name] : environment[name]
            }
            let paths = try AgentPaths(stateDirectory: options.stateDirectory, environment: lookup)
            try AgentPaths.checkSocketPath(paths.socket)
            socket = paths.socket
            isSocketNamed = AgentPaths.namesSocket(lookup)
            runtimeDirectory = paths.runtimeDirectory.map { $0 + "/tokenagent" }
            stateDirectory = paths.stateDirectory
            let path = options.configuration ?? paths.configuration
            let isNamed = options.configuration != nil && !options.isConfigurationOfAgent
            configuration = ConfigurationFile(
                path: path,
                mustExist: isNamed || environment["TOKENAGENT_CONFIG"] == path,
                reservedPaths: ReservedPaths(
                    socket: paths.socket,
                    stateDirectory: paths.stateDirectory,
                    configuration: path
                )
            )
        } catch {
            throw StartFailure(error)
        }
        home = environment["HOME"]
    }

    /// Creates the directory for a configuration that is written later.
    ///
    /// A sandboxed agent can only read from directories that existed when it entered the sandbox.
    func makeConfigurationDirectory() {
        guard !configuration.mustExist else { return }
        // Failure is harmless: a directory that is not private can still be read.
        _ = try? PrivateDirectory.prepare(ListeningSocket.directory(of: configuration.path))
    }
}
