// SPDX-License-Identifier: MIT

import AgentSettings
import CommandExecution
import Glibc

/// The start of the process that runs commands for the agent, before the agent holds any secret.
///
/// The process is a separate program, `tokenagent-runner`, next to this executable or in
/// `../libexec/tokenagent`. It lives as long as the agent, and a second copy of the agent's libraries would
/// double the agent's memory.
enum CommandRunnerStart {
    private static let name = "tokenagent-runner"

    /// The agent's ends of the sockets between the two processes.
    struct Sockets {
        /// The socket for commands.
        let commands: Int32
        /// The socket for the guards of exchanges.
        let door: Int32
    }

    /// Starts the process and returns the agent's ends of the sockets between the two.
    ///
    /// An agent whose runner is missing still serves tokens. Every command then fails with the reason.
    static func start(
        _ options: StartOptions,
        _ places: AgentLocations,
        _ environment: [String: String]
    ) throws(StartFailure) -> Sockets {
        let (commands, itsCommands) = try socketPair()
        defer { close(itsCommands) }
        let (door, itsDoor) = try socketPair()
        defer { close(itsDoor) }
        // In the background nothing reads the runner's messages, and the reader of the start's output waits
        // for its end.
        let errors = options.readiness == nil ? 2 : unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { if errors > 2 { close(errors) } }
        let start = ProgramStart(
            executable: executable,
            arguments: [name] + source(options, places.configuration),
            environment: EnvironmentFilter.forCommands(environment),
            descriptors: [
                2: errors, CommandRunnerServer.agentDescriptor: itsCommands,
                GuardStarter.agentDescriptor: itsDoor,
            ],
            placement: .ownGroup,
            directory: environment["HOME"]
        )
        do throws(ProgramFailure) {
            _ = try start.start()
        } catch {
            Console.tell("cannot run hooks and commands: \(error.message)")
        }
        return Sockets(commands: commands, door: door)
    }

    private static func socketPair() throws(StartFailure) -> (ours: Int32, its: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .system("create a socket pair") }
        return (ends[0], ends[1])
    }

    /// Returns the command line with which the runner reads the commands of a reloaded configuration.
    private static func source(_ options: StartOptions, _ file: ConfigurationFile) -> [String] {
        [CurrentProcess.executable, "--list-commands"] + (options.allowsRoot ? ["--allow-root"] : [])
            + (file.mustExist ? ["--config=\(file.path)"] : [])
    }

    private static var executable: String {
        let own = CurrentProcess.executable
        let directory = String(own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex))
        let beside = "\(directory)/\(name)"
        return unsafe access(beside, X_OK) == 0 ? beside : "\(directory)/../libexec/tokenagent/\(name)"
    }
}
